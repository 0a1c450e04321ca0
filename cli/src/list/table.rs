//! Lists as tables: for a screen of some width, or a line for each item with tabs between.

use anstyle::Style;
use comfy_table::presets::NOTHING;
use comfy_table::{ColumnConstraint, ContentArrangement, Width};
use oncewire::{Prompt, Resource, ResourceTemplate, Tool};
use serde_json::Value;

use crate::output::{first_line, styled};

/// A table. Every cell is one harmless line.
pub(crate) struct Table {
    columns: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

/// The widest that a column may be that is no text, so that the text beside it has room.
const NARROW: u16 = 36;

impl Table {
    /// For a screen of this width, under a title.
    pub(crate) fn drawn(&self, title: &str, width: u16) -> String {
        let title = styled(&format!("{title} ({})", self.rows.len()), Style::new().bold());
        if self.rows.is_empty() {
            return format!("{title}\n");
        }
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(width.max(20));
        table.set_header(self.columns);
        // A column in which nothing is said takes no room.
        for row in &self.rows {
            table.add_row(row);
        }
        let last = self.columns.len().saturating_sub(1);
        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_padding((2, 0));
            if self.rows.iter().all(|row| row.get(index).is_none_or(String::is_empty)) {
                column.set_constraint(ColumnConstraint::Hidden);
            } else if index < last {
                column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(NARROW)));
            }
        }
        let lines: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        let (header, rows) = lines.split_once('\n').unwrap_or((&lines, ""));
        format!("{title}\n{}\n{rows}", styled(header, Style::new().dimmed()))
    }

    /// A line of each row, tabs between its cells.
    pub(crate) fn tabbed(&self) -> String {
        self.rows.iter().map(|row| format!("{}\n", row.join("\t"))).collect()
    }
}

/// An optional text as a cell.
fn cell(text: Option<&str>) -> String {
    first_line(text.unwrap_or_default())
}

/// Tools: what they take, and what the server says of their effects.
pub(crate) fn of_tools(tools: &[Tool]) -> Table {
    let row = |tool: &Tool| vec![first_line(&tool.name), takes(tool), hints(tool), cell(tool.description.as_deref())];
    Table { columns: &["NAME", "ARGUMENTS", "HINTS", "DESCRIPTION"], rows: tools.iter().map(row).collect() }
}

/// Resources by their URI.
pub(crate) fn of_resources(resources: &[Resource]) -> Table {
    let row = |resource: &Resource| {
        let says = resource.description.as_deref().or(resource.title.as_deref()).unwrap_or(&resource.name);
        vec![first_line(&resource.uri), cell(resource.mime_type.as_deref()), first_line(says)]
    };
    Table { columns: &["URI", "TYPE", "DESCRIPTION"], rows: resources.iter().map(row).collect() }
}

/// Templates by their pattern.
pub(crate) fn of_templates(templates: &[ResourceTemplate]) -> Table {
    let row = |template: &ResourceTemplate| {
        let says = template.description.as_deref().or(template.title.as_deref()).unwrap_or(&template.name);
        vec![first_line(&template.uri_template), cell(template.mime_type.as_deref()), first_line(says)]
    };
    Table { columns: &["TEMPLATE", "TYPE", "DESCRIPTION"], rows: templates.iter().map(row).collect() }
}

/// Prompts and what they take.
pub(crate) fn of_prompts(prompts: &[Prompt]) -> Table {
    let row = |prompt: &Prompt| {
        let takes = prompt.arguments.iter().map(|argument| marked(&argument.name, argument.required));
        vec![first_line(&prompt.name), takes.collect::<Vec<_>>().join(" "), cell(prompt.description.as_deref())]
    };
    Table { columns: &["NAME", "ARGUMENTS", "DESCRIPTION"], rows: prompts.iter().map(row).collect() }
}

/// The arguments in the order of the schema; what must be given has a star.
fn takes(tool: &Tool) -> String {
    let schema: Value =
        tool.input_schema.as_ref().and_then(|schema| serde_json::from_str(schema.get()).ok()).unwrap_or_default();
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(|properties| properties.keys());
    names.map(|name| marked(name, is_required(name))).collect::<Vec<_>>().join(" ")
}

fn marked(name: &str, is_required: bool) -> String {
    let name = first_line(name);
    if is_required { format!("{name}*") } else { name }
}

/// What the server says of the tool's effects, as far as it says anything.
fn hints(tool: &Tool) -> String {
    let said = &tool.annotations;
    let all = [
        (said.read_only_hint, "read-only", "writes"),
        (said.destructive_hint, "destructive", "not destructive"),
        (said.idempotent_hint, "idempotent", "not idempotent"),
    ];
    let words = all.iter().filter_map(|(hint, yes, no)| hint.map(|hint| if hint { *yes } else { *no }));
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let rows = vec![
            vec![
                "create_draft".to_owned(),
                "to* count".to_owned(),
                String::new(),
                "Writes a draft and keeps it until it is sent".to_owned(),
            ],
            vec!["poke".to_owned(), String::new(), String::new(), "Pokes".to_owned()],
        ];
        Table { columns: &["NAME", "ARGUMENTS", "HINTS", "DESCRIPTION"], rows }
    }

    #[test]
    fn no_line_is_wider_than_the_screen_and_an_empty_column_is_left_out() {
        for width in [40, 60, 100] {
            let drawn = table().drawn("Tools", width);
            assert!(drawn.lines().all(|line| line.chars().count() <= usize::from(width)), "{drawn}");
            assert!(drawn.starts_with("Tools (2)\n") && !drawn.contains("HINTS"), "{drawn}");
            assert!(drawn.contains("create_draft"), "{drawn}");
        }
    }

    #[test]
    fn a_program_gets_a_line_for_each() {
        assert_eq!(
            table().tabbed(),
            "create_draft\tto* count\t\tWrites a draft and keeps it until it is sent\npoke\t\t\tPokes\n"
        );
    }
}
