//! The params of a request: an ordered object whose values stay raw.
//!
//! Values are never turned into numbers or maps on their way out, so integers of any size, unknown fields and the caller's
//! order survive. The one key that is looked into is `_meta`, and there only the keys that we set are touched.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::vocabulary::config::OptionError;

const META: &str = "_meta";

/// The params of a request, or none.
#[derive(Clone, Default)]
pub(crate) struct Params(Option<Object>);

impl Params {
    /// No params at all: the member is left out of the message.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// An object without members.
    pub(crate) fn empty() -> Self {
        Self(Some(Object::default()))
    }

    /// From a JSON value, which must be an object. `field` is what an error names, `params` or `arguments`; of `params` the
    /// `_meta` must be an object too.
    pub(crate) fn from_value(field: &'static str, value: &Value) -> Result<Self, OptionError> {
        Self::from_json(field, &value.to_string())
    }

    /// From the text of a JSON object, exactly as it is.
    pub(crate) fn from_json(field: &'static str, text: &str) -> Result<Self, OptionError> {
        if !text.trim_start().starts_with('{') {
            return Err(OptionError::new(field, "it is not a JSON object"));
        }
        // The text of a serde error can quote the value: only the position is passed on.
        let object: Object = serde_json::from_str(text).map_err(|error| {
            let problem = format!("it is not JSON: line {}, column {}", error.line(), error.column());
            OptionError::new(field, problem)
        })?;
        if field == "params"
            && let Some(meta) = object.get(META)
        {
            check_meta(field, meta)?;
        }
        Ok(Self(Some(object)))
    }

    /// As [`Self::set`], for a member that the caller names.
    pub(crate) fn set_checked(&mut self, name: &str, value: Box<RawValue>) -> Result<(), OptionError> {
        if name == META {
            check_meta("params", &value)?;
        }
        self.set(name, value);
        Ok(())
    }

    /// Sets a member, in its old place if there was one, else at the end.
    pub(crate) fn set(&mut self, name: &str, value: Box<RawValue>) {
        self.0.get_or_insert_default().set(name, value);
    }

    /// Takes a member away.
    pub(crate) fn remove(&mut self, name: &str) {
        if let Some(Object(members)) = &mut self.0 {
            members.retain(|(key, _)| key != name);
        }
    }

    /// A member as it was written.
    pub(crate) fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.as_ref()?.get(name)
    }

    /// These params with these keys in `_meta`; its other keys stay as they are, in their order. A `_meta` that is no object
    /// is replaced.
    pub(crate) fn with_meta<'a>(&self, keys: impl IntoIterator<Item = (&'a str, Box<RawValue>)>) -> Self {
        let mut meta: Object =
            self.get(META).and_then(|meta| serde_json::from_str(meta.get()).ok()).unwrap_or_default();
        for (key, value) in keys {
            meta.set(key, value);
        }
        let mut params = self.clone();
        if !meta.0.is_empty() {
            params.set(META, meta.to_raw());
        }
        params
    }

    /// The JSON of these params; `None` where there are none.
    pub(crate) fn to_json(&self) -> Option<String> {
        self.0.as_ref().map(Object::to_json)
    }

    /// The same as a raw value, to become a member of something else.
    pub(crate) fn to_raw(&self) -> Option<Box<RawValue>> {
        self.0.as_ref().map(Object::to_raw)
    }
}

fn check_meta(field: &'static str, meta: &RawValue) -> Result<(), OptionError> {
    match meta.get().as_bytes().first() {
        Some(b'{' | b'n') => Ok(()),
        _ => Err(OptionError::new(field, "_meta is not a JSON object")),
    }
}

impl fmt::Debug for Params {
    // Arguments may hold secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "Params(..)" } else { "Params(none)" })
    }
}

/// The text of a string as raw JSON.
pub(crate) fn raw_string(text: &str) -> Box<RawValue> {
    raw(Value::from(text).to_string())
}

/// A number as raw JSON.
pub(crate) fn raw_number(number: u64) -> Box<RawValue> {
    raw(number.to_string())
}

/// JSON that was written here or came from a [`RawValue`], so it is valid.
fn raw(json: String) -> Box<RawValue> {
    RawValue::from_string(json).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[derive(Clone, Default)]
struct Object(Vec<(String, Box<RawValue>)>);

impl Object {
    fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    fn set(&mut self, name: &str, value: Box<RawValue>) {
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    fn to_json(&self) -> String {
        let mut json = String::with_capacity(self.0.iter().map(|(key, value)| key.len() + value.get().len() + 4).sum());
        json.push('{');
        for (index, (key, value)) in self.0.iter().enumerate() {
            if index > 0 {
                json.push(',');
            }
            json.push_str(&Value::from(key.as_str()).to_string());
            json.push(':');
            json.push_str(value.get());
        }
        json.push('}');
        json
    }

    fn to_raw(&self) -> Box<RawValue> {
        raw(self.to_json())
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry::<String, Box<RawValue>>()? {
                    members.push(member);
                }
                // Of a repeated key the last value counts, as in every common reader.
                let mut object = Object(Vec::with_capacity(members.len()));
                let mut places = std::collections::HashMap::new();
                for (key, value) in members {
                    match places.get(&key) {
                        Some(&place) => object.0[place] = (key, value),
                        None => {
                            places.insert(key.clone(), object.0.len());
                            object.0.push((key, value));
                        }
                    }
                }
                Ok(object)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use test_case::test_case;

    use super::*;

    fn params(text: &str) -> Params {
        Params::from_json("params", text).unwrap()
    }

    #[test]
    fn order_integers_and_spelling_survive() {
        let text = r#"{"z":123456789012345678901234567890,"a":[1.0, 1e2],"_meta":{"n":18446744073709551616}}"#;
        assert_eq!(params(text).to_json().unwrap(), text);
        assert_eq!(params(text).get("z").unwrap().get(), "123456789012345678901234567890");
    }

    #[test]
    fn meta_keys_are_merged_and_the_others_stay() {
        let before = params(r#"{"name":"poke","_meta":{"progressToken":9007199254740993,"mine":{"b":1,"a":2}},"x":1}"#);
        let after = before.with_meta([("attempt", raw_number(2)), ("progressToken", raw_string("t\"1"))]);
        assert_eq!(
            after.to_json().unwrap(),
            r#"{"name":"poke","_meta":{"progressToken":"t\"1","mine":{"b":1,"a":2},"attempt":2},"x":1}"#
        );
    }

    #[test]
    fn meta_makes_params_where_there_were_none_unless_it_is_empty() {
        assert_eq!(Params::none().with_meta([("k", raw_number(1))]).to_json().unwrap(), r#"{"_meta":{"k":1}}"#);
        assert_eq!(
            params(r#"{"_meta":null}"#).with_meta([("k", raw_number(1))]).to_json().unwrap(),
            r#"{"_meta":{"k":1}}"#
        );
        assert_eq!(Params::none().with_meta([]).to_json(), None);
        assert_eq!(Params::empty().with_meta([]).to_json().unwrap(), "{}");
    }

    #[test_case("[1]", "not a JSON object")]
    #[test_case("\"s3cret\"", "not a JSON object")]
    #[test_case("null", "not a JSON object")]
    #[test_case("", "not a JSON object")]
    #[test_case("{\"a\":s3cret}", "column 6")]
    #[test_case("{\"_meta\":[\"s3cret\"]}", "_meta")]
    fn what_is_not_an_object_names_the_field_and_not_the_value(text: &str, shown: &str) {
        let error = Params::from_json("params", text).unwrap_err();
        assert_eq!(error.field, "params");
        assert!(error.problem.contains(shown), "{error}");
        assert!(!error.to_string().contains("s3cret"));
    }

    #[test]
    fn the_arguments_of_a_tool_may_have_a_meta_of_any_kind() {
        let arguments = Params::from_value("arguments", &json!({"_meta": [1]})).unwrap();
        assert_eq!(arguments.to_json().unwrap(), r#"{"_meta":[1]}"#);
        assert_eq!(Params::from_value("arguments", &json!(1)).unwrap_err().field, "arguments");
    }

    #[test]
    fn a_member_that_the_caller_names_is_exact_and_its_meta_is_an_object() {
        let mut params = params(r#"{"ref":{"type":"ref/prompt"}}"#);
        params.set_checked("context", RawValue::from_string(r#"{"n":18446744073709551616}"#.into()).unwrap()).unwrap();
        assert_eq!(params.to_json().unwrap(), r#"{"ref":{"type":"ref/prompt"},"context":{"n":18446744073709551616}}"#);
        let error = params.set_checked("_meta", RawValue::from_string("[1]".into()).unwrap()).unwrap_err();
        assert!(error.problem.contains("_meta"), "{error}");
    }

    #[test]
    fn of_a_repeated_key_the_last_value_counts() {
        assert_eq!(params(r#"{"a":1,"b":2,"a":3}"#).to_json().unwrap(), r#"{"a":3,"b":2}"#);
    }

    #[test]
    fn values_of_any_depth_do_not_overflow_the_stack() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(200_000), "]".repeat(200_000));
        let again = params(&deep).with_meta([("k", raw_number(1))]);
        assert_eq!(again.get("a").unwrap().get().len(), 400_000);
        assert!(
            again.to_json().unwrap().ends_with(r#"},"_meta":{"k":1}}"#)
                || again.to_json().unwrap().ends_with(r#"],"_meta":{"k":1}}"#)
        );
    }

    #[test]
    fn debug_shows_no_value() {
        assert_eq!(format!("{:?}", params(r#"{"a":"s3cret"}"#)), "Params(..)");
    }

    proptest! {
        #[test]
        fn setting_a_key_touches_no_other(keys in proptest::collection::hash_map("[a-c\"\\\\é]{1,3}", any::<i64>(), 0..6), key in "[a-c\"\\\\é]{1,3}") {
            let value = json!({"_meta": keys});
            let merged = Params::from_value("params", &value).unwrap().with_meta([(key.as_str(), raw_number(7))]);
            let mut expected = value;
            expected["_meta"][&key] = json!(7);
            prop_assert_eq!(serde_json::from_str::<Value>(&merged.to_json().unwrap()).unwrap(), expected);
        }
    }
}
