//! The arguments of a tool or a prompt as they are typed: `to=ada`, `count:=3`, `text=@letter.txt`, `text=-`.
//!
//! Whatever can be wrong with them without knowing the server is found here, before anything is sent.

use std::io::Read as _;
use std::path::Path;

use serde_json::value::RawValue;

use crate::connection::value::text_of;
use crate::failure::BadInput;

/// The most that is read from standard input: as much as the longest message that the core takes by default.
const LARGEST_INPUT: u64 = 32 * 1024 * 1024;

/// One argument as it was typed.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    /// Its name.
    pub(crate) name: String,
    /// Its value.
    pub(crate) given: Given,
}

/// A value as it was typed.
#[derive(Clone, Debug)]
pub(crate) enum Given {
    /// `name=…`: a text, to be read as what the schema says.
    Text(String),
    /// `name:=…`: JSON, exact.
    Json(Box<RawValue>),
}

/// Reads standard input, once.
#[derive(Debug, Default)]
pub(crate) struct Input {
    taken_by: Option<String>,
}

impl Input {
    /// All of standard input, as text.
    fn take(&mut self, argument: &str) -> Result<String, BadInput> {
        if let Some(other) = &self.taken_by {
            return Err(BadInput::new(argument, format!("standard input was read for {other} already")));
        }
        self.taken_by = Some(argument.to_owned());
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(LARGEST_INPUT + 1).read_to_end(&mut bytes);
        read.map_err(|error| BadInput::new(argument, format!("cannot read standard input: {error}")))?;
        if bytes.len() as u64 > LARGEST_INPUT {
            return Err(BadInput::new(argument, format!("standard input has more than {LARGEST_INPUT} bytes")));
        }
        String::from_utf8(bytes).map_err(|_| BadInput::new(argument, "standard input is not text in UTF-8"))
    }

    /// The value that is meant: the text itself, `@FILE` for what is in a file, `-` for standard input; a backslash before either takes
    /// the meaning away.
    pub(crate) fn meant(&mut self, argument: &str, text: &str) -> Result<String, BadInput> {
        match text.strip_prefix('@') {
            Some(path) => text_of(argument, Path::new(path)),
            None if text == "-" => self.take(argument),
            None => match text.strip_prefix('\\') {
                Some(rest) if rest.starts_with('@') || rest == "-" => Ok(rest.to_owned()),
                _ => Ok(text.to_owned()),
            },
        }
    }
}

/// Reads the words, in their order.
///
/// # Errors
/// Names the first word that cannot be used.
pub(crate) fn read(words: &[String], input: &mut Input) -> Result<Vec<Word>, BadInput> {
    words.iter().map(|word| one(word, input)).collect()
}

fn one(word: &str, input: &mut Input) -> Result<Word, BadInput> {
    let Some((name, text)) = word.split_once('=') else {
        let problem = "it is no argument: write NAME=VALUE, or NAME:=JSON";
        return Err(BadInput::new(format!("{word:?}"), problem));
    };
    let (name, is_json) = match name.strip_suffix(':') {
        Some(name) => (name, true),
        None => (name, false),
    };
    if name.is_empty() {
        return Err(BadInput::new(format!("{word:?}"), "it has no name: write NAME=VALUE, or NAME:=JSON"));
    }
    let text = input.meant(name, text)?;
    let given = if is_json { Given::Json(json(name, text)?) } else { Given::Text(text) };
    Ok(Word { name: name.to_owned(), given })
}

/// JSON, every digit of it.
pub(crate) fn json(argument: &str, text: String) -> Result<Box<RawValue>, BadInput> {
    serde_json::from_str::<Box<RawValue>>(text.trim())
        .map_err(|error| BadInput::new(argument, format!("it is not JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn only(word: &str) -> Result<String, BadInput> {
        one(word, &mut Input::default()).map(|word| match word.given {
            Given::Text(text) => format!("{} is text {text}", word.name),
            Given::Json(json) => format!("{} is JSON {json}", word.name),
        })
    }

    #[test_case("to=ada", "to is text ada"; "a text")]
    #[test_case("to=", "to is text "; "an empty text")]
    #[test_case("sum=a=b:=c", "sum is text a=b:=c"; "a text with signs in it")]
    #[test_case("count:=123456789012345678901234567890", "count is JSON 123456789012345678901234567890"; "every digit")]
    #[test_case(r#"who:={"name": "ada"}"#, r#"who is JSON {"name": "ada"}"#; "an object")]
    #[test_case(r"at=\@ada", "at is text @ada"; "an at sign that means itself")]
    #[test_case(r"at=\-", "at is text -"; "a hyphen that means itself")]
    #[test_case(r"path=C:\@x", r"path is text C:\@x"; "a backslash elsewhere")]
    fn words_are_read(word: &str, expected: &str) {
        assert_eq!(only(word).unwrap(), expected);
    }

    #[test_case("ada", r#""ada": it is no argument"#; "no sign")]
    #[test_case("=ada", r#""=ada": it has no name"#; "no name")]
    #[test_case(":=1", r#"":=1": it has no name"#; "no name before JSON")]
    #[test_case("count:=three", "count: it is not JSON"; "no JSON")]
    #[test_case("text=@/surely/not/there", "text: cannot open /surely/not/there"; "no file")]
    fn what_cannot_be_used_is_named(word: &str, expected: &str) {
        let error = only(word).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn standard_input_is_read_once() {
        let mut input = Input { taken_by: Some("a".to_owned()) };
        assert_eq!(one("b=-", &mut input).unwrap_err().to_string(), "b: standard input was read for a already");
    }
}
