//! The ids of JSON-RPC requests: ours, which are counted, and the server's, which are echoed verbatim.
//!
//! An id of ours is a number. The specification wants it back as it was; three spellings of it are taken for ours, because
//! servers in the field write them: `1`, `1.0` (a server that reads numbers as floats) and `"1"` (one that keeps ids as
//! text). Nothing looser: `"01"`, `"+1"` and `" 1"` are not ours.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::value::RawValue;

/// The id of a JSON-RPC message.
#[derive(Clone)]
pub(crate) enum Id {
    /// A number without sign, fraction or exponent.
    Number(u64),
    /// A negative whole number.
    Negative(i64),
    /// A string.
    Text(String),
    /// Anything else, as it was written: null, a fraction, a number past 64 bits, an object.
    Other(Box<RawValue>),
}

impl Id {
    /// The id that this JSON value is.
    pub(crate) fn from_raw(raw: Box<RawValue>) -> Self {
        let text = raw.get();
        if let Ok(number) = text.parse::<u64>() {
            Self::Number(number)
        } else if let Ok(number) = text.parse::<i64>() {
            Self::Negative(number)
        } else if let Ok(text) = serde_json::from_str::<String>(text) {
            Self::Text(text)
        } else {
            Self::Other(raw)
        }
    }

    /// The number of ours that this id can be, in one of the three spellings.
    pub(crate) fn as_ours(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Negative(_) => None,
            Self::Text(text) => text.parse().ok().filter(|number: &u64| number.to_string() == *text),
            Self::Other(raw) => whole(raw.get()),
        }
    }

    /// The JSON of this id, for a reply.
    pub(crate) fn to_json(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Negative(number) => number.to_string(),
            Self::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
            Self::Other(raw) => raw.get().to_owned(),
        }
    }
}

/// A number written with a fraction of zeros or an exponent, where a float holds every whole number exactly.
fn whole(text: &str) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    (number.fract() == 0.0 && (0.0..EXACT).contains(&number)).then_some(number as u64)
}

impl PartialEq<u64> for Id {
    fn eq(&self, ours: &u64) -> bool {
        self.as_ours() == Some(*ours)
    }
}

// Between ids of the server the spelling counts: `1` and `"1"` are two requests.
impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::Negative(a), Self::Negative(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Other(a), Self::Other(b)) => a.get() == b.get(),
            _ => false,
        }
    }
}

impl Eq for Id {}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Self::Number(number) => number.hash(state),
            Self::Negative(number) => number.hash(state),
            Self::Text(text) => text.hash(state),
            Self::Other(raw) => raw.get().hash(state),
        }
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&crate::vocabulary::excerpt::excerpt(self.to_json().as_bytes()))
    }
}

/// Gives out the ids of our requests: 1, 2, 3 and so on, each once in the life of a client.
#[derive(Debug)]
pub(crate) struct IdSource(AtomicU64);

impl Default for IdSource {
    fn default() -> Self {
        Self(AtomicU64::new(1))
    }
}

impl IdSource {
    /// The next id.
    pub(crate) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    /// Is this the id of any request of ours, past or present?
    pub(crate) fn issued(&self, id: &Id) -> bool {
        id.as_ours().is_some_and(|number| number >= 1 && number < self.0.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn id(json: &str) -> Id {
        Id::from_raw(RawValue::from_string(json.to_owned()).unwrap())
    }

    #[test_case("7", true)]
    #[test_case("7.0", true)]
    #[test_case("70e-1", true)]
    #[test_case("\"7\"", true)]
    #[test_case("\"\\u0037\"", true)]
    #[test_case("\"07\"", false)]
    #[test_case("\"+7\"", false)]
    #[test_case("\" 7\"", false)]
    #[test_case("\"7.0\"", false)]
    #[test_case("7.5", false)]
    #[test_case("-7", false)]
    #[test_case("8", false)]
    #[test_case("null", false)]
    #[test_case("[7]", false)]
    #[test_case("true", false)]
    fn three_spellings_of_an_id_are_ours(json: &str, ours: bool) {
        assert_eq!(id(json) == 7, ours);
    }

    #[test]
    fn a_float_past_its_exact_range_is_nobodys_id() {
        assert_eq!(id("9007199254740993.0").as_ours(), None);
        assert_eq!(id("1e300").as_ours(), None);
        assert_eq!(id("9007199254740993").as_ours(), Some(9_007_199_254_740_993));
    }

    #[test_case("18446744073709551615")]
    #[test_case("-9223372036854775808")]
    #[test_case("184467440737095516160")]
    #[test_case("1.50")]
    #[test_case("-0")]
    #[test_case("\"a\\\"b\\u0000\"")]
    #[test_case("\"\\ud800\"")]
    #[test_case("null")]
    #[test_case("{\"a\":1}")]
    fn an_id_is_echoed_as_the_same_json(json: &str) {
        let echoed = id(json).to_json();
        match (serde_json::from_str::<String>(json), serde_json::from_str::<String>(&echoed)) {
            (Ok(text), Ok(again)) => assert_eq!(text, again),
            _ => assert_eq!(echoed, if json == "-0" { "0" } else { json }),
        }
    }

    #[test]
    fn ids_of_the_server_are_told_apart_by_their_spelling() {
        assert_ne!(id("1"), id("\"1\""));
        assert_eq!(id("\"1\""), id("\"1\""));
        assert_eq!(id("1.0"), id("1.0"));
    }

    #[test]
    fn only_ids_that_were_given_out_are_issued() {
        let ids = IdSource::default();
        assert!(!ids.issued(&id("1")));
        assert_eq!((ids.next(), ids.next()), (1, 2));
        assert!(ids.issued(&id("2")) && ids.issued(&id("\"1\"")));
        assert!(!ids.issued(&id("3")) && !ids.issued(&id("0")) && !ids.issued(&id("null")));
    }
}
