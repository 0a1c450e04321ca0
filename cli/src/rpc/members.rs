//! The members of a JSON object, in their order, each as it was written: integers of any size and unknown members survive.

use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The members of an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members(Vec<(String, Box<RawValue>)>);

impl Members {
    /// Those of this object; `None` if it is none.
    pub(crate) fn of(raw: &RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    /// A member as it was written.
    pub(crate) fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// A member of this type; `None` if it is absent or of another one.
    pub(crate) fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// The members of the object that a member is.
    pub(crate) fn object(&self, name: &str) -> Option<Self> {
        Self::of(self.get(name)?)
    }

    /// Sets a member, in its old place if there was one, else at the end.
    pub(crate) fn set(&mut self, name: &str, value: Box<RawValue>) {
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// As [`Self::set`], unless the member is there.
    pub(crate) fn set_default(&mut self, name: &str, value: &Value) {
        if self.get(name).is_none() {
            self.set(name, raw(value));
        }
    }

    /// Takes a member away.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Box<RawValue>> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(at).1)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), &**value))
    }

    /// The object.
    pub(crate) fn to_raw(&self) -> Box<RawValue> {
        let mut json = String::from("{");
        for (index, (name, value)) in self.0.iter().enumerate() {
            if index > 0 {
                json.push(',');
            }
            json.push_str(&Value::from(name.as_str()).to_string());
            json.push(':');
            json.push_str(value.get());
        }
        json.push('}');
        text(json)
    }
}

/// A value as raw JSON.
pub(crate) fn raw(value: &Value) -> Box<RawValue> {
    text(value.to_string())
}

/// JSON that was put together from JSON, so it is valid.
pub(crate) fn text(json: String) -> Box<RawValue> {
    RawValue::from_string(json).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
                let mut places = std::collections::HashMap::new();
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    // Of a repeated member the last value counts, as in every common reader.
                    match places.get(&name) {
                        Some(&place) => members[place] = (name, value),
                        None => {
                            places.insert(name.clone(), members.len());
                            members.push((name, value));
                        }
                    }
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Members {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn what_is_not_touched_stays_as_it_was_written() {
        let mut object = members(r#"{"z":18446744073709551616,"a":{"é":1e400},"gone":1,"z":7}"#);
        object.set("a", raw(&Value::from(2)));
        object.remove("gone");
        object.set_default("a", &Value::Null);
        object.set_default("new", &Value::from("\n"));
        assert_eq!(object.to_raw().get(), r#"{"z":7,"a":2,"new":"\n"}"#);
    }

    #[test]
    fn a_member_of_another_type_is_as_good_as_absent() {
        let object = members(r#"{"name":7,"meta":[]}"#);
        assert_eq!(object.read::<String>("name"), None);
        assert_eq!(object.read::<u8>("name"), Some(7));
        assert!(object.object("meta").is_none());
    }
}
