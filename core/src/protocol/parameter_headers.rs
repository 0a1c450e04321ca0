//! Arguments of a tool that the server wants to see in headers, too: `x-mcp-header` in the tool's schema, `Mcp-Param-*` in the request
//! (MCP 2026-07-28, transports, Streamable HTTP, "Custom headers from tool parameters").
//!
//! A tool whose schema uses the annotation wrongly must not be offered. Where an annotation may stand: on a property of a primitive
//! type that is reached from the root through `properties` alone.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The annotation.
const ANNOTATION: &str = "x-mcp-header";

/// Keywords whose value is one schema, or a list of them, and that no annotation may stand below (JSON Schema 2020-12, core and
/// applicator vocabularies).
const BELOW_SCHEMAS: [&str; 14] = [
    "items",
    "prefixItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "propertyNames",
    "oneOf",
    "anyOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
];
/// As above, where the value is an object of named schemas.
const BELOW_NAMED_SCHEMAS: [&str; 4] = ["patternProperties", "dependentSchemas", "$defs", "definitions"];

/// One annotated property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParameterHeader {
    /// From the root of the arguments.
    path: Vec<String>,
    header: HeaderName,
}

/// The annotations of a tool's input schema, or why the tool must not be offered.
pub(crate) fn annotations(schema: &RawValue) -> Result<Vec<ParameterHeader>, String> {
    // Most schemas have none, and need not be read.
    if !schema.get().contains(ANNOTATION) {
        return Ok(Vec::new());
    }
    // A schema nested deeper than the reader goes cannot be judged.
    let schema: Value = serde_json::from_str(schema.get()).map_err(|_| "its schema cannot be read".to_owned())?;
    let mut found = Vec::new();
    visit(&schema, &mut Vec::new(), true, &mut found)?;
    Ok(found)
}

fn visit(
    schema: &Value,
    path: &mut Vec<String>,
    reachable: bool,
    found: &mut Vec<ParameterHeader>,
) -> Result<(), String> {
    let Value::Object(schema) = schema else { return Ok(()) };
    if let Some(annotation) = schema.get(ANNOTATION) {
        let header = header(annotation, schema, path, reachable)?;
        if found.iter().any(|other| other.header == header) {
            return Err(format!("{ANNOTATION} {annotation} stands twice in its schema"));
        }
        found.push(ParameterHeader { path: path.clone(), header });
    }
    if let Some(Value::Object(properties)) = schema.get("properties") {
        for (name, property) in properties {
            path.push(name.clone());
            visit(property, path, reachable, found)?;
            path.pop();
        }
    }
    for keyword in BELOW_SCHEMAS {
        match schema.get(keyword) {
            Some(Value::Array(schemas)) => schemas.iter().try_for_each(|schema| visit(schema, path, false, found))?,
            Some(schema) => visit(schema, path, false, found)?,
            None => {}
        }
    }
    for keyword in BELOW_NAMED_SCHEMAS {
        if let Some(Value::Object(schemas)) = schema.get(keyword) {
            schemas.values().try_for_each(|schema| visit(schema, path, false, found))?;
        }
    }
    Ok(())
}

/// The header of an annotation, or what is wrong with it.
fn header(
    annotation: &Value,
    schema: &Map<String, Value>,
    path: &[String],
    reachable: bool,
) -> Result<HeaderName, String> {
    let place = if path.is_empty() { "the root".to_owned() } else { path.join(".") };
    if !reachable || path.is_empty() {
        return Err(format!("{ANNOTATION} at {place}: only a property that `properties` alone lead to may have one"));
    }
    let name = annotation.as_str().filter(|name| !name.is_empty());
    let header = name.and_then(|name| HeaderName::try_from(format!("mcp-param-{name}")).ok());
    let Some(header) = header else {
        return Err(format!("{ANNOTATION} at {place}: {annotation} is not the name of a header"));
    };
    match schema.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => Ok(header),
        other => {
            let other = other.unwrap_or("none that is one word");
            Err(format!("{ANNOTATION} at {place}: its type must be string, integer or boolean, and is {other}"))
        }
    }
}

/// The headers for these arguments. What is null or absent has none.
pub(crate) fn headers(annotated: &[ParameterHeader], arguments: Option<&RawValue>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let Some(arguments) = arguments else { return headers };
    for ParameterHeader { path, header } in annotated {
        if let Some(value) = at(arguments, path).and_then(text).as_deref().and_then(encode) {
            headers.insert(header.clone(), value);
        }
    }
    headers
}

/// The argument at this path, exact.
fn at<'a>(arguments: &'a RawValue, path: &[String]) -> Option<&'a RawValue> {
    let mut value = arguments;
    for name in path {
        let members: std::collections::HashMap<std::borrow::Cow<'a, str>, &'a RawValue> =
            serde_json::from_str(value.get()).ok()?;
        value = members.get(name.as_str()).copied()?;
    }
    Some(value)
}

/// A primitive as text: strings as they are, integers in decimal digits, booleans as `true` and `false`.
fn text(value: &RawValue) -> Option<String> {
    let json = value.get();
    match json.bytes().next()? {
        b'"' => serde_json::from_str(json).ok(),
        b't' | b'f' => Some(json.to_owned()),
        b'-' | b'0'..=b'9' => {
            // An integer may be written with a fraction or an exponent; its digits are what a server compares.
            if json.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()) {
                return Some(json.to_owned());
            }
            let number: f64 = json.parse().ok()?;
            (number.fract() == 0.0 && number.abs() < 9e15).then(|| format!("{number:.0}"))
        }
        _ => None,
    }
}

/// A text as the value of a header: as it is, or in the form `=?base64?…?=` where a header could not carry it unchanged.
pub(crate) fn encode(text: &str) -> Option<HeaderValue> {
    let plain = !text.is_empty()
        && text.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte))
        && text.trim_matches([' ', '\t']) == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    let value = if plain {
        HeaderValue::from_str(text)
    } else {
        HeaderValue::try_from(format!("=?base64?{}?=", STANDARD.encode(text)))
    };
    value.ok().map(|mut value| {
        // Arguments may hold secrets.
        value.set_sensitive(true);
        value
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use test_case::test_case;

    use super::*;

    fn raw(value: &Value) -> Box<RawValue> {
        serde_json::value::to_raw_value(value).unwrap()
    }

    fn schema(property: &Value) -> Box<RawValue> {
        raw(&json!({ "type": "object", "properties": { "region": property } }))
    }

    #[test]
    fn annotated_arguments_go_into_headers() {
        let schema = raw(&json!({ "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "priority": { "type": "integer", "x-mcp-header": "Priority" },
            "verbose": { "type": "boolean", "x-mcp-header": "Verbose" },
            "filter": { "type": "object", "properties": { "tenant": { "type": "string", "x-mcp-header": "Tenant" } } },
            "query": { "type": "string" },
        } }));
        let annotated = annotations(&schema).unwrap();
        let arguments = r#"{"region":"größe","priority":12345678901234567890,"verbose":false,"query":"x","filter":{"tenant":" a"}}"#;
        let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
        let headers = headers(&annotated, Some(&arguments));
        assert_eq!(headers["mcp-param-region"], "=?base64?Z3LDtsOfZQ==?=");
        assert_eq!(headers["mcp-param-priority"], "12345678901234567890");
        assert_eq!(headers["mcp-param-verbose"], "false");
        assert_eq!(headers["mcp-param-tenant"], "=?base64?IGE=?=");
        assert_eq!(headers.len(), 4);
    }

    #[test_case("null"; "null")]
    #[test_case("[1]"; "a list")]
    #[test_case("{}"; "an object")]
    #[test_case("1.5"; "no integer")]
    fn what_is_no_primitive_has_no_header(value: &str) {
        let annotated = annotations(&schema(&json!({ "type": "string", "x-mcp-header": "Region" }))).unwrap();
        let arguments = RawValue::from_string(format!("{{\"region\":{value}}}")).unwrap();
        assert!(headers(&annotated, Some(&arguments)).is_empty());
        assert!(headers(&annotated, None).is_empty());
        assert!(headers(&annotated, Some(&raw(&json!({})))).is_empty());
    }

    #[test_case("1", "1")]
    #[test_case("-7", "-7")]
    #[test_case("1.0", "1")]
    #[test_case("1e3", "1000")]
    #[test_case("\"\"", "=?base64??="; "an empty text")]
    #[test_case("\"a\\nb\"", "=?base64?YQpi?="; "a line end")]
    #[test_case("\"\\tindented\"", "=?base64?CWluZGVudGVk?="; "a tab in front")]
    #[test_case("\"=?base64?x?=\"", "=?base64?PT9iYXNlNjQ/eD89?="; "what looks encoded")]
    #[test_case("\"SELECT * FROM users\"", "SELECT * FROM users")]
    fn values_are_told_so_that_they_can_be_compared(value: &str, header: &str) {
        let annotated = annotations(&schema(&json!({ "type": "string", "x-mcp-header": "Region" }))).unwrap();
        let arguments = RawValue::from_string(format!("{{\"region\":{value}}}")).unwrap();
        assert_eq!(headers(&annotated, Some(&arguments))["mcp-param-region"], header);
    }

    #[test_case(&json!({"type": "string", "x-mcp-header": ""}); "empty")]
    #[test_case(&json!({"type": "string", "x-mcp-header": "a b"}); "a blank")]
    #[test_case(&json!({"type": "string", "x-mcp-header": "a:b"}); "a colon")]
    #[test_case(&json!({"type": "string", "x-mcp-header": "größe"}); "not ascii")]
    #[test_case(&json!({"type": "string", "x-mcp-header": "a\r\nb"}); "control characters")]
    #[test_case(&json!({"type": "string", "x-mcp-header": 7}); "not a text")]
    #[test_case(&json!({"type": "number", "x-mcp-header": "N"}); "a number")]
    #[test_case(&json!({"type": "object", "x-mcp-header": "N"}); "an object")]
    #[test_case(&json!({"type": "array", "x-mcp-header": "N"}); "an array")]
    #[test_case(&json!({"type": "null", "x-mcp-header": "N"}); "the type null")]
    #[test_case(&json!({"x-mcp-header": "N"}); "no type")]
    #[test_case(&json!({"type": "array", "items": {"type": "string", "x-mcp-header": "N"}}); "below items")]
    #[test_case(&json!({"anyOf": [{"type": "string", "x-mcp-header": "N"}]}); "below anyOf")]
    #[test_case(&json!({"$defs": {"a": {"type": "string", "x-mcp-header": "N"}}}); "below defs")]
    fn a_tool_with_a_wrong_annotation_is_not_offered(property: &Value) {
        annotations(&schema(property)).unwrap_err();
    }

    #[test]
    fn neither_is_one_that_uses_a_header_twice_or_at_the_root() {
        let twice = raw(&json!({ "properties": {
            "a": { "type": "string", "x-mcp-header": "Region" },
            "b": { "type": "string", "x-mcp-header": "REGION" },
        } }));
        assert!(annotations(&twice).unwrap_err().contains("twice"));
        annotations(&raw(&json!({ "type": "string", "x-mcp-header": "Root" }))).unwrap_err();
    }

    #[test]
    fn a_property_may_have_the_name_of_a_keyword() {
        let schema = raw(&json!({ "properties": { "items": { "type": "string", "x-mcp-header": "Items" } } }));
        assert_eq!(annotations(&schema).unwrap().len(), 1);
        assert_eq!(annotations(&raw(&json!({ "properties": {} }))), Ok(Vec::new()));
    }
}
