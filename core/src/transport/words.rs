//! What a refusal says, so that two refusals can be compared: status, code, words and data, with ids, numbers, dates and hex left out; of a
//! redirect the target too, as it is.
//!
//! A server that refuses everything of ours says the same to a harmless request as to the one that counts, but for what it makes anew
//! each time: the id of the request, a time, a trace id. Comparing is done on digests: nothing of what a server wrote is kept for it.

use std::hash::{DefaultHasher, Hash, Hasher};

use http::{HeaderMap, StatusCode, header};

use crate::rpc::message::ErrorObject;

/// What a refusal says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    status: StatusCode,
    /// Of a JSON-RPC error.
    code: Option<i64>,
    /// Of what it says besides.
    digest: u64,
    /// Of where a redirect leads. Two places are not one because their names differ by a number.
    target: Option<u64>,
}

impl Words {
    /// Of a JSON-RPC error.
    pub(crate) fn of_error(status: StatusCode, headers: &HeaderMap, error: &ErrorObject) -> Self {
        let data = error.data.as_ref().map_or("", |data| data.get());
        let digest = digest(&format!("{}\n{data}", error.message));
        Self { status, code: Some(error.code), digest, target: target(status, headers) }
    }

    /// Of a body that is no answer, by its [`digest`].
    pub(crate) fn of_body(status: StatusCode, headers: &HeaderMap, digest: u64) -> Self {
        Self { status, code: None, digest, target: target(status, headers) }
    }

    /// The status, for `classify` to judge.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }
}

/// A digest of where a redirect leads.
fn target(status: StatusCode, headers: &HeaderMap) -> Option<u64> {
    let location = headers.get(header::LOCATION).filter(|_| status.is_redirection())?;
    let mut hasher = DefaultHasher::new();
    location.hash(&mut hasher);
    Some(hasher.finish())
}

/// A digest of a text without its ids, numbers, dates and hex.
pub(crate) fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_of_a_word) {
        let (between, from) = rest.split_at(start);
        let (word, after) = from.split_at(from.find(|character| !is_of_a_word(character)).unwrap_or(from.len()));
        between.hash(&mut hasher);
        if is_made_anew(word) {
            '#'.hash(&mut hasher);
        } else {
            word.hash(&mut hasher);
        }
        rest = after;
    }
    rest.hash(&mut hasher);
    hasher.finish()
}

/// A date such as `2026-12-01T10:00:00.5Z` and a UUID are one word each.
fn is_of_a_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '-' | '_' | ':' | '.')
}

/// Does the word hold a number, or is it hex without one?
fn is_made_anew(word: &str) -> bool {
    const HEX: usize = 8;
    let letters = word.trim_end_matches([':', '.']);
    letters.contains(|character: char| character.is_ascii_digit())
        || letters.len() >= HEX && letters.chars().all(|character| character.is_ascii_hexdigit() || character == '-')
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("Session not found", "Session not found"; "the same")]
    #[test_case("no session 4f1c", "no session 77"; "a number")]
    #[test_case("id 0194f2c1-aaaa-7bbb-8ccc-0123456789ab!", "id deadbeef-aaaa-bbbb-cccc-abcdefabcdef!"; "a UUID")]
    #[test_case("at 2026-12-01T10:00:00Z: no", "at 2026-12-01T10:00:01.25Z: no"; "a date")]
    #[test_case("trace deadbeefcafe", "trace 0123beefcafe"; "hex")]
    #[test_case("{\"id\":7,\"t\":1.5}", "{\"id\":123,\"t\":22.75}"; "numbers in JSON")]
    fn alike(left: &str, right: &str) {
        assert_eq!(digest(left), digest(right));
    }

    #[test_case("Session not found", "Session expired"; "other words")]
    #[test_case("unknown tool poke", "unknown tool peek"; "another name")]
    #[test_case("a 1", "a"; "a number more")]
    #[test_case("decade", "facade"; "short words of hex letters")]
    #[test_case("", " "; "a blank")]
    #[test_case("<h1>404</h1>", "<h2>404</h2> "; "a longer page")]
    fn not_alike(left: &str, right: &str) {
        assert_ne!(digest(left), digest(right));
    }
}
