//! What the schema of a tool makes of the words: each is read as what the schema says, and what does not fit is named, before the tool is
//! called.
//!
//! Only the arguments themselves are looked at: their names, types and enumerations, and which must be there. What is inside of an object is
//! the server's to check.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::words::{Given, Word};
use crate::failure::BadInput;

/// References and alternatives are followed so deep, and no deeper.
const DEPTH: usize = 8;
/// The most of a typed value that an error repeats.
const REPEATED: usize = 60;

/// The schema of the arguments of a tool.
#[derive(Debug)]
pub(crate) struct Schema {
    root: Value,
}

/// One thing that an argument may be.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    Null,
    Array(Value),
    Object,
    OneOf(Vec<Value>),
    Anything,
}

impl Schema {
    /// From the tool's `inputSchema`; one that is none asks for nothing.
    pub(crate) fn new(schema: Option<&RawValue>) -> Self {
        Self { root: schema.and_then(|schema| serde_json::from_str(schema.get()).ok()).unwrap_or_default() }
    }

    /// The arguments as one JSON object, in the order in which they were typed.
    ///
    /// # Errors
    /// Names the first argument that does not fit.
    pub(crate) fn typed(&self, words: &[Word]) -> Result<String, BadInput> {
        let mut members: Vec<(&str, String)> = Vec::new();
        for word in words {
            if members.iter().any(|(name, _)| *name == word.name) {
                continue;
            }
            let all: Vec<&Given> =
                words.iter().filter(|other| other.name == word.name).map(|word| &word.given).collect();
            members.push((&word.name, self.value(&word.name, &all)?));
        }
        let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
        self.check_names(&names)?;
        let members = members.iter().map(|(name, value)| format!("{}:{value}", Value::from(*name)));
        Ok(format!("{{{}}}", members.collect::<Vec<_>>().join(",")))
    }

    /// Checks arguments that were given as JSON.
    ///
    /// # Errors
    /// Names the first argument that does not fit.
    pub(crate) fn check(&self, arguments: &Map<String, Value>) -> Result<(), BadInput> {
        for (name, value) in arguments {
            self.check_value(name, value)?;
        }
        self.check_names(&arguments.keys().map(String::as_str).collect::<Vec<_>>())
    }

    fn properties(&self) -> Option<&Map<String, Value>> {
        self.root.get("properties").and_then(Value::as_object)
    }

    /// May there be arguments that are not named?
    fn is_open(&self) -> bool {
        match self.root.get("additionalProperties") {
            None => self.properties().is_none_or(Map::is_empty),
            Some(Value::Bool(open)) => *open,
            Some(_) => true,
        }
    }

    /// What must be given is there, and what is there is known.
    fn check_names(&self, names: &[&str]) -> Result<(), BadInput> {
        let properties = self.properties();
        if !self.is_open()
            && let Some(unknown) = names.iter().find(|name| properties.is_none_or(|known| !known.contains_key(**name)))
        {
            let known: Vec<&str> = properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            let takes = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(BadInput::new(*unknown, format!("the tool has no such argument; it takes {takes}")));
        }
        let required = self.root.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            if !names.contains(&name) {
                let about = properties.and_then(|known| known.get(name)).and_then(|one| one.get("description"));
                let about = about.and_then(Value::as_str).map(|text| format!(" ({text})")).unwrap_or_default();
                return Err(BadInput::new(name, format!("it is missing{about}")));
            }
        }
        Ok(())
    }

    fn kinds(&self, name: &str) -> Vec<Kind> {
        let mut kinds = Vec::new();
        match self.properties().and_then(|properties| properties.get(name)) {
            Some(schema) => self.kinds_of(schema, DEPTH, &mut kinds),
            None => kinds.push(Kind::Anything),
        }
        kinds
    }

    /// Every thing that this schema allows, in its order.
    fn kinds_of(&self, schema: &Value, depth: usize, kinds: &mut Vec<Kind>) {
        if depth == 0 {
            kinds.push(Kind::Anything);
            return;
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            return match target {
                Some(target) => self.kinds_of(target, depth - 1, kinds),
                None => kinds.push(Kind::Anything),
            };
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return kinds.push(Kind::OneOf(values.clone()));
        }
        if let Some(value) = schema.get("const") {
            return kinds.push(Kind::OneOf(vec![value.clone()]));
        }
        match schema.get("type") {
            Some(Value::String(name)) => kinds.push(Self::kind(name, schema)),
            Some(Value::Array(names)) => {
                kinds.extend(names.iter().filter_map(Value::as_str).map(|name| Self::kind(name, schema)));
            }
            _ => {
                let alternatives = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(*key)?.as_array());
                match alternatives {
                    Some(alternatives) => alternatives.iter().for_each(|one| self.kinds_of(one, depth - 1, kinds)),
                    None => kinds.push(Kind::Anything),
                }
            }
        }
    }

    fn kind(name: &str, schema: &Value) -> Kind {
        match name {
            "string" => Kind::Text,
            "integer" => Kind::Integer,
            "number" => Kind::Number,
            "boolean" => Kind::Boolean,
            "null" => Kind::Null,
            "array" => Kind::Array(schema.get("items").cloned().unwrap_or_default()),
            "object" => Kind::Object,
            _ => Kind::Anything,
        }
    }

    /// The JSON text of an argument that was typed once, or several times.
    fn value(&self, name: &str, given: &[&Given]) -> Result<String, BadInput> {
        let kinds = self.kinds(name);
        let elements = kinds.iter().find_map(|kind| if let Kind::Array(items) = kind { Some(items) } else { None });
        match (given, elements) {
            ([Given::Json(json)], _) => {
                let value: Value = serde_json::from_str(json.get()).unwrap_or_default();
                self.check_value(name, &value)?;
                Ok(json.get().to_owned())
            }
            ([Given::Text(text)], None) => self.read(name, text, &kinds),
            // All of it at once, or the one element that there is.
            ([Given::Text(text)], Some(_)) if text.trim_start().starts_with('[') => self.read(name, text, &kinds),
            (given, Some(items)) => {
                let mut of_items = Vec::new();
                self.kinds_of(items, DEPTH, &mut of_items);
                let elements = given.iter().map(|one| match one {
                    Given::Text(text) => self.read(name, text, &of_items),
                    Given::Json(json) => Ok(json.get().to_owned()),
                });
                Ok(format!("[{}]", elements.collect::<Result<Vec<_>, _>>()?.join(",")))
            }
            (_, None) => Err(BadInput::new(name, "it is given more than once, and is no array")),
        }
    }

    /// A text as the first of these things that it can be.
    fn read(&self, name: &str, text: &str, kinds: &[Kind]) -> Result<String, BadInput> {
        kinds.iter().find_map(|kind| read_as(text, kind)).ok_or_else(|| misfit(name, kinds, &quoted(text)))
    }

    fn check_value(&self, name: &str, value: &Value) -> Result<(), BadInput> {
        let kinds = self.kinds(name);
        if kinds.iter().any(|kind| fits(value, kind)) {
            Ok(())
        } else {
            Err(misfit(name, &kinds, &quoted(&value.to_string())))
        }
    }
}

/// The JSON text of this text as this thing, if it can be that.
fn read_as(text: &str, kind: &Kind) -> Option<String> {
    let json = |is: fn(&Value) -> bool| {
        let raw: Box<RawValue> = serde_json::from_str(text.trim()).ok()?;
        let value: Value = serde_json::from_str(raw.get()).ok()?;
        is(&value).then(|| raw.get().to_owned())
    };
    match kind {
        Kind::Text | Kind::Anything => Some(Value::from(text).to_string()),
        Kind::Integer => json(Value::is_number).filter(|text| !text.contains(['.', 'e', 'E'])),
        Kind::Number => json(Value::is_number),
        Kind::Boolean => json(Value::is_boolean),
        Kind::Null => json(Value::is_null),
        Kind::Array(_) => json(Value::is_array),
        Kind::Object => json(Value::is_object),
        Kind::OneOf(values) => {
            let json: Option<Value> = serde_json::from_str(text).ok().filter(|json: &Value| !json.is_string());
            let is_it = |value: &&Value| value.as_str() == Some(text) || Some(*value) == json.as_ref();
            values.iter().find(is_it).map(Value::to_string)
        }
    }
}

fn fits(value: &Value, kind: &Kind) -> bool {
    match kind {
        Kind::Text => value.is_string(),
        Kind::Integer => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        Kind::Number => value.is_number(),
        Kind::Boolean => value.is_boolean(),
        Kind::Null => value.is_null(),
        Kind::Array(_) => value.is_array(),
        Kind::Object => value.is_object(),
        Kind::OneOf(values) => values.contains(value),
        Kind::Anything => true,
    }
}

fn misfit(name: &str, kinds: &[Kind], value: &str) -> BadInput {
    let words = kinds.iter().map(|kind| match kind {
        Kind::Text => "a string".to_owned(),
        Kind::Integer => "an integer".to_owned(),
        Kind::Number => "a number".to_owned(),
        Kind::Boolean => "true or false".to_owned(),
        Kind::Null => "null".to_owned(),
        Kind::Array(_) => "an array (as JSON, or one element each time it is given)".to_owned(),
        Kind::Object => "an object, as JSON".to_owned(),
        Kind::OneOf(values) => {
            let shown: Vec<String> =
                values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect();
            format!("one of {}", shown.join(", "))
        }
        Kind::Anything => "anything".to_owned(),
    });
    BadInput::new(name, format!("it must be {}, not {value}", words.collect::<Vec<_>>().join(" or ")))
}

/// A value as an error repeats it.
fn quoted(text: &str) -> String {
    let mut characters = text.chars();
    let beginning: String = characters.by_ref().take(REPEATED).collect();
    if characters.next().is_some() { format!("{beginning:?}…") } else { format!("{beginning:?}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use test_case::test_case;

    use super::super::words::{Input, read};
    use super::*;

    fn schema() -> Schema {
        let root = json!({
            "type": "object",
            "properties": {
                "to": {"type": "string", "description": "Whom to write to"},
                "count": {"type": "integer"},
                "ratio": {"type": "number"},
                "draft": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "sizes": {"type": "array", "items": {"type": "integer"}},
                "filter": {"type": "object"},
                "colour": {"enum": ["red", "green", 7]},
                "until": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "note": {"type": ["string", "null"]},
                "level": {"$ref": "#/$defs/level"},
                "free": {}
            },
            "required": ["to"],
            "$defs": {"level": {"enum": ["low", "high"]}}
        });
        Schema { root }
    }

    fn typed(words: &[&str]) -> Result<String, BadInput> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        schema().typed(&read(&words, &mut Input::default())?)
    }

    #[test_case("count=3", r#""count":3"#; "an integer")]
    #[test_case("count=123456789012345678901234567890", r#""count":123456789012345678901234567890"#; "every digit")]
    #[test_case("to=3", r#""to":"3""#; "a string of digits")]
    #[test_case("ratio=0.50", r#""ratio":0.50"#; "a number")]
    #[test_case("draft=true", r#""draft":true"#; "a boolean")]
    #[test_case("tags=a", r#""tags":["a"]"#; "one element")]
    #[test_case(r#"tags=["a", "b"]"#, r#""tags":["a", "b"]"#; "an array")]
    #[test_case(r#"filter={"a": 1.0}"#, r#""filter":{"a": 1.0}"#; "an object")]
    #[test_case("colour=red", r#""colour":"red""#; "a word of an enumeration")]
    #[test_case("colour=7", r#""colour":7"#; "a number of an enumeration")]
    #[test_case("until=null", r#""until":null"#; "null")]
    #[test_case("until=5", r#""until":5"#; "one of two")]
    #[test_case("note=null", r#""note":"null""#; "the first that fits")]
    #[test_case("note:=null", r#""note":null"#; "JSON says it exactly")]
    #[test_case("level=high", r#""level":"high""#; "behind a reference")]
    #[test_case("free=5", r#""free":"5""#; "of which nothing is said")]
    fn a_word_is_read_as_what_the_schema_says(word: &str, expected: &str) {
        let words = if word.starts_with("to=") { vec![word] } else { vec!["to=ada", word] };
        let text = typed(&words).unwrap_or_else(|error| panic!("{error}"));
        assert!(text.contains(expected), "{text}");
        serde_json::from_str::<Value>(&text).unwrap();
    }

    #[test]
    fn an_array_may_be_given_element_by_element_and_order_is_kept() {
        let text = typed(&["sizes=2", "to=ada", "sizes=1"]).unwrap();
        assert_eq!(text, r#"{"sizes":[2,1],"to":"ada"}"#);
    }

    #[test_case("count=many", r#"count: it must be an integer, not "many""#; "no integer")]
    #[test_case("count=1.5", "count: it must be an integer"; "a fraction")]
    #[test_case("count:=\"3\"", "count: it must be an integer"; "JSON that does not fit")]
    #[test_case("draft=yes", "draft: it must be true or false"; "no boolean")]
    #[test_case("colour=blue", "colour: it must be one of red, green, 7, not"; "an enumeration is told")]
    #[test_case("level=middle", "level: it must be one of low, high"; "an enumeration behind a reference")]
    #[test_case("filter=a", "filter: it must be an object, as JSON"; "no object")]
    #[test_case("sizes=a", "sizes: it must be an integer"; "no element")]
    #[test_case("until=soon", "until: it must be an integer or null"; "none of two")]
    #[test_case("cuont=3", "cuont: the tool has no such argument; it takes "; "a slip of the finger")]
    fn what_does_not_fit_is_named(word: &str, expected: &str) {
        let error = typed(&["to=ada", word]).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn what_is_missing_or_given_twice_is_named() {
        assert_eq!(typed(&["count=3"]).unwrap_err().to_string(), "to: it is missing (Whom to write to)");
        assert!(typed(&["to=a", "to=b"]).unwrap_err().to_string().starts_with("to: it is given more than once"));
    }

    #[test]
    fn a_tool_that_says_nothing_takes_anything() {
        let schema = Schema::new(None);
        let words = read(&["a=1".to_owned(), "b:=1".to_owned()], &mut Input::default()).unwrap();
        assert_eq!(schema.typed(&words).unwrap(), r#"{"a":"1","b":1}"#);
    }

    #[test]
    fn arguments_that_are_json_are_checked_too() {
        let check = |value: Value| schema().check(value.as_object().unwrap());
        assert!(check(json!({"to": "ada", "count": 3, "note": null})).is_ok());
        assert_eq!(check(json!({"to": 3})).unwrap_err().argument, "to");
        assert_eq!(check(json!({"to": "ada", "x": 3})).unwrap_err().argument, "x");
        assert_eq!(check(json!({})).unwrap_err().argument, "to");
    }

    #[test]
    fn references_in_a_circle_end() {
        let schema = Schema { root: json!({"properties": {"a": {"$ref": "#/properties/a"}}}) };
        assert_eq!(schema.kinds("a"), [Kind::Anything]);
    }
}
