//! From files to single cases.
//!
//! A file may have `axes`: a list of objects, each from the name of a variant to the values of its variables. There is a case for each
//! combination. A string that is `{{variable}}` and nothing else becomes the value, of whatever type; within a longer string the text goes in.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};

use super::model::{Language, Vector};

/// The vectors of this repository, in the order of their names.
///
/// # Errors
/// If one of the files is no vector; all files that are wrong are named.
pub fn all() -> Result<Vec<Vector>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors");
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(&directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    let (mut vectors, mut wrong) = (Vec::new(), Vec::new());
    for path in paths {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match std::fs::read_to_string(&path).map_err(Into::into).and_then(|text| expand(&stem, &text)) {
            Ok(more) => vectors.extend(more),
            Err(error) => wrong.push(format!("{}: {error:#}", path.display())),
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(vectors)
}

/// Those that a language runs.
///
/// # Errors
/// As [`all`].
pub fn for_language(language: Language) -> Result<Vec<Vector>> {
    Ok(all()?.into_iter().filter(|vector| vector.languages.contains(&language)).collect())
}

/// The cases in one file.
///
/// # Errors
/// If the text is no vector: not JSON, a member that nobody knows, a variable without a value, or one that nobody uses.
pub fn expand(stem: &str, text: &str) -> Result<Vec<Vector>> {
    let mut file: Value = serde_json::from_str(text)?;
    let members = file.as_object_mut().context("a vector is an object")?;
    let axes: Vec<Map<String, Value>> = match members.remove("axes") {
        None => Vec::new(),
        Some(axes) => serde_json::from_value(axes).context("axes")?,
    };
    ensure!(!members.contains_key("name"), "the name comes from the file");
    let mut variants = vec![(Vec::new(), Map::new())];
    for axis in axes {
        ensure!(!axis.is_empty(), "an axis without variants");
        let mut longer = Vec::new();
        for (names, values) in &variants {
            for (name, more) in &axis {
                let more = more.as_object().with_context(|| format!("variant {name} is no object"))?;
                let (mut names, mut values): (Vec<String>, Map<String, Value>) = (names.clone(), values.clone());
                names.push(name.clone());
                values.extend(more.clone());
                longer.push((names, values));
            }
        }
        variants = longer;
    }
    let mut used = Vec::new();
    let mut vectors = Vec::new();
    for (names, values) in &variants {
        // The variant with the empty name is the one that only sets variables.
        let names: Vec<_> = names.iter().filter(|name| !name.is_empty()).map(String::as_str).collect();
        let name = if names.is_empty() { stem.to_owned() } else { format!("{stem}[{}]", names.join(",")) };
        let filled = fill(&file, values, &mut used).with_context(|| name.clone())?;
        let mut vector: Vector = serde_json::from_value(filled).with_context(|| name.clone())?;
        // Most vectors count requests, and a client that looks for the modern era first makes one more.
        vector.client.era.get_or_insert_with(|| "legacy".to_owned());
        vectors.push(Vector { name, ..vector });
    }
    let mut all = variants.iter().flat_map(|(_, values)| values.keys());
    if let Some(idle) = all.find(|name| !used.contains(name)) {
        bail!("the variable {idle} is used nowhere");
    }
    Ok(vectors)
}

fn fill<'a>(value: &Value, values: &'a Map<String, Value>, used: &mut Vec<&'a String>) -> Result<Value> {
    let get = |name: &str, used: &mut Vec<&'a String>| -> Result<&'a Value> {
        let (name, value) = values.get_key_value(name).with_context(|| format!("no value for {name}"))?;
        used.push(name);
        Ok(value)
    };
    Ok(match value {
        Value::String(text) => match text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")) {
            // A value may name other variables of the case.
            Some(name) if !name.contains("{{") => {
                let value = get(name, used)?;
                fill(value, values, used)?
            }
            _ => {
                let mut parts = text.split("{{");
                let mut out = parts.next().unwrap_or_default().to_owned();
                for part in parts {
                    let (name, rest) = part.split_once("}}").context("{{ without }}")?;
                    match get(name, used)? {
                        Value::String(text) => out.push_str(text),
                        other => out.push_str(&other.to_string()),
                    }
                    out.push_str(rest);
                }
                Value::String(out)
            }
        },
        Value::Array(items) => Value::Array(items.iter().map(|item| fill(item, values, used)).collect::<Result<_>>()?),
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(name, member)| Ok((name.clone(), fill(member, values, used)?)))
                .collect::<Result<_>>()?,
        ),
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{
        "cases": ["S00"], "about": "{{how}} at {{n}}",
        "axes": [{"fin": {"how": "close"}, "rst": {"how": "reset"}}, {"one": {"n": 1}, "two": {"n": 2}}],
        "steps": [{"call": {"method": "connect", "times": "{{n}}"}}]
    }"#;

    #[test]
    fn there_is_a_case_for_each_combination() {
        let vectors = expand("x", FILE).unwrap();
        let names: Vec<_> = vectors.iter().map(|vector| vector.name.as_str()).collect();
        assert_eq!(names, ["x[fin,one]", "x[fin,two]", "x[rst,one]", "x[rst,two]"]);
        assert_eq!(vectors[3].about, "reset at 2");
        assert!(matches!(&vectors[3].steps[0], super::super::Step::Call(call) if call.times == Some(2)));
    }

    #[test]
    fn a_vector_that_names_no_era_is_about_the_legacy_one() {
        let era = |text: &str| expand("x", text).unwrap()[0].client.era.clone().unwrap();
        assert_eq!(era(FILE), "legacy");
        assert_eq!(era(&FILE.replace("\"steps\"", "\"client\": {\"era\": \"auto\"}, \"steps\"")), "auto");
    }

    #[test]
    fn a_file_with_a_mistake_is_refused_with_its_reason() {
        for (from, to, reason) in [
            ("{{how}}", "{{who}}", "no value for who"),
            ("{{how}}", "it", "the variable how is used nowhere"),
            ("\"about\"", "\"abuot\"", "unknown field `abuot`"),
            ("connect", "conect", "unknown variant `conect`"),
            ("\"S00\"", "7", "invalid type"),
            ("\"call\"", "\"cal\"", "unknown variant `cal`"),
        ] {
            let error = format!("{:#}", expand("x", &FILE.replace(from, to)).unwrap_err());
            assert!(error.contains(reason), "{error}");
        }
    }
}
