//! What a refusal says, so that two refusals can be compared: status, code, words and data, with ids, numbers, dates and hex left out; of a
//! redirect the target too, as it is.
//!
//! A server that refuses everything of ours says the same to a harmless request as to the one that counts, but for what it makes anew
//! each time: the id of the request, a time, a trace id. Comparing is done on digests: nothing of what a server wrote is kept for it.

use std::hash::{DefaultHasher, Hash, Hasher};

use http::{HeaderMap, StatusCode, header};

use crate::exchange::answer::Answer;

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
    /// The words of an answer that was read whole and is no result.
    pub(crate) fn of(status: StatusCode, headers: &HeaderMap, answer: &Answer) -> Option<Self> {
        let location = headers.get(header::LOCATION).filter(|_| status.is_redirection());
        let target = location.map(|location| {
            let mut hasher = DefaultHasher::new();
            location.hash(&mut hasher);
            hasher.finish()
        });
        match answer {
            Answer::Error { error, .. } => {
                let data = error.data.as_ref().map_or("", |data| data.get());
                let digest = digest(&format!("{}\n{data}", error.message));
                Some(Self { status, code: Some(error.code), digest, target })
            }
            Answer::Missing { digest, .. } => Some(Self { status, code: None, digest: *digest, target }),
            Answer::Result(_) | Answer::Stopped { .. } | Answer::TooLarge | Answer::Unread { .. } => None,
        }
    }

    /// The status, for `classify` to judge.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }
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

    fn words(status: StatusCode, location: Option<&'static str>, answer: &Answer) -> Option<Words> {
        let location = location.map(|location| (header::LOCATION, http::HeaderValue::from_static(location)));
        Words::of(status, &location.into_iter().collect(), answer)
    }

    fn missing(digest: u64) -> Answer {
        Answer::Missing { excerpt: String::new(), digest }
    }

    #[test]
    fn only_what_was_read_whole_has_words() {
        let not_found = |answer: &Answer| words(StatusCode::NOT_FOUND, None, answer);
        assert_eq!(not_found(&missing(1)), not_found(&missing(1)));
        assert_ne!(not_found(&missing(1)), not_found(&missing(2)));
        assert_ne!(not_found(&missing(1)), words(StatusCode::GONE, None, &missing(1)));
        assert_eq!(not_found(&Answer::TooLarge), None);
        assert_eq!(not_found(&Answer::Unread { why: String::new() }), None);
        assert_eq!(not_found(&Answer::Stopped { failure: None }), None);
    }

    #[test]
    fn where_a_redirect_leads_is_one_of_its_words() {
        let leads = |to| words(StatusCode::PERMANENT_REDIRECT, to, &missing(1));
        assert_eq!(leads(Some("http://a.test/mcp")), leads(Some("http://a.test/mcp")));
        assert_ne!(leads(Some("http://a.test/mcp")), leads(Some("http://a.test/login")));
        assert_ne!(leads(Some("http://a.test/mcp")), leads(None));
        assert_ne!(
            leads(Some("http://node-1.test/mcp")),
            leads(Some("http://node-2.test/mcp")),
            "another number is another place"
        );
        // Where nothing is redirected it means nothing.
        let refused = |at| words(StatusCode::FORBIDDEN, at, &missing(1));
        assert_eq!(refused(Some("http://a.test/1")), refused(None));
    }
}
