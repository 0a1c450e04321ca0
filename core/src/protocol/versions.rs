//! The versions of the handshake era, and how client and server find one that both speak (MCP 2025-11-25, lifecycle, version
//! negotiation).
//!
//! A server answers `initialize` with the version offered, or with another one that it speaks. Servers in the field also refuse it and
//! list what they speak, in the data of the error or in its words, and some do so only for the header of the next request. Such a refusal
//! is of the label alone: the newest version that both speak is offered once more.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::rpc::message::ErrorObject;

/// The versions of the handshake era that this client speaks, newest first. The last is of the time before this transport: a server that
/// answers with it over this one means the messages, which are the same, and official clients take it so.
pub(crate) const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Ours among those that an error lists, newest first. Empty if it lists none.
pub(crate) fn listed_in_error(error: &ErrorObject) -> Vec<&'static str> {
    let listed = supported(error.data.as_deref());
    if listed.is_empty() { listed_in_text(&error.message) } else { ours(&listed) }
}

/// Ours among those that a text lists, newest first. Empty if it lists none.
pub(crate) fn listed_in_text(text: &str) -> Vec<&'static str> {
    ours(&named_in(text))
}

/// Ours that are older than this one, newest first: a server that speaks it may speak one of them. Empty if it is no version.
pub(crate) fn older_than(version: &str) -> Vec<&'static str> {
    let is_date = is_date(version.as_bytes());
    // Dates are in order as texts are.
    VERSIONS.into_iter().filter(|ours| is_date && *ours < version).collect()
}

/// The versions that an error names in its data, as the UnsupportedProtocolVersionError does.
pub(crate) fn supported(data: Option<&RawValue>) -> Vec<String> {
    #[derive(Deserialize)]
    struct Versions {
        #[serde(default)]
        supported: Vec<String>,
    }
    data.and_then(|data| serde_json::from_str(data.get()).ok())
        .map_or_else(Vec::new, |Versions { supported }| supported)
}

fn ours<S: AsRef<str>>(listed: &[S]) -> Vec<&'static str> {
    VERSIONS.into_iter().filter(|ours| listed.iter().any(|listed| listed.as_ref() == *ours)).collect()
}

/// The dates in a text that speaks of versions.
fn named_in(text: &str) -> Vec<&str> {
    if !text.to_ascii_lowercase().contains("version") {
        return Vec::new();
    }
    let dates = text.as_bytes().windows(DATE.len()).enumerate().filter(|(_, window)| is_date(window));
    dates.filter_map(|(at, _)| text.get(at..at + DATE.len())).collect()
}

const DATE: &str = "2025-11-25";

fn is_date(bytes: &[u8]) -> bool {
    bytes.len() == DATE.len()
        && bytes
            .iter()
            .zip(DATE.bytes())
            .all(|(byte, of)| if of == b'-' { *byte == b'-' } else { byte.is_ascii_digit() })
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn refused(message: &str, data: Option<&str>) -> ErrorObject {
        let data = data.map(|data| RawValue::from_string(data.to_owned()).unwrap());
        ErrorObject { code: -32_000, message: message.to_owned(), data, well_formed: true }
    }

    // The words of servers in the field.
    #[test_case("Bad Request: Unsupported protocol version: 2026-07-28. Supported versions: 2024-11-05, 2025-03-26, 2025-06-18", &["2025-06-18", "2025-03-26", "2024-11-05"])]
    #[test_case("Bad Request: Unsupported protocol version (supported versions: 2025-06-18, 2025-03-26)", &["2025-06-18", "2025-03-26"])]
    #[test_case("version 2031-01-01 only", &[]; "none of ours")]
    #[test_case("no such file 2025-03-26", &[]; "a date, and no word of versions")]
    #[test_case("version 2025-03-2é, 12025-03-26", &["2025-03-26"]; "letters")]
    fn a_refusal_that_lists_versions_is_read(text: &str, listed: &[&str]) {
        assert_eq!(listed_in_error(&refused(text, None)), listed);
        assert_eq!(listed_in_text(text), listed);
    }

    #[test]
    fn what_the_data_lists_goes_before_the_words() {
        let data = r#"{"supported":["2025-03-26","2031-01-01"],"requested":"2025-11-25"}"#;
        assert_eq!(listed_in_error(&refused("version 2025-11-25", Some(data))), ["2025-03-26"]);
        assert_eq!(listed_in_error(&refused("version 2025-06-18", Some("7"))), ["2025-06-18"]);
    }

    #[test_case("2025-09-01", &["2025-06-18", "2025-03-26", "2024-11-05"])]
    #[test_case("1999-01-01", &[])]
    #[test_case("2025-11-25-draft", &[])]
    #[test_case("latest", &[])]
    fn older_ones_are_those_before_a_date(version: &str, older: &[&str]) {
        assert_eq!(older_than(version), older);
    }
}
