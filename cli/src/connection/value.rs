//! Values that do not stand on the command line itself, since everybody on the machine can read that: variables of the environment, files.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use crate::failure::BadInput;

/// The largest file that holds a token, headers, a certificate or a key: 1 MiB.
const LARGEST: u64 = 1024 * 1024;

/// A duration as it is typed: `30` (seconds), `500ms`, `1m 30s`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string());
    }
    humantime::parse_duration(text).map_err(|_| "it is no duration; write 30 (seconds), 500ms, 2m or 1h 30m".to_owned())
}

/// The value of a variable of the environment.
pub(crate) fn variable(argument: &str, name: &str) -> Result<String, BadInput> {
    std::env::var(name).map_err(|error| match error {
        std::env::VarError::NotPresent => BadInput::new(argument, format!("the environment has no variable {name}")),
        std::env::VarError::NotUnicode(_) => BadInput::new(argument, format!("the variable {name} is not text")),
    })
}

/// The text with each `${NAME}` replaced by the variable of the environment.
pub(crate) fn expanded(argument: &str, text: &str) -> Result<String, BadInput> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else {
            return Err(BadInput::new(argument, "a `${` has no `}`"));
        };
        expanded.push_str(before);
        expanded.push_str(&variable(argument, name)?);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// What is in a small file.
pub(crate) fn bytes_of(argument: &str, path: &Path) -> Result<Vec<u8>, BadInput> {
    let bad = |problem: String| BadInput::new(argument, problem);
    let shown = path.display();
    let file = File::open(path).map_err(|error| bad(format!("cannot open {shown}: {error}")))?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| bad(format!("cannot read {shown}: {error}")))?;
    if bytes.len() as u64 > LARGEST {
        return Err(bad(format!("{shown} is larger than {LARGEST} bytes")));
    }
    Ok(bytes)
}

/// The text in a small file.
pub(crate) fn text_of(argument: &str, path: &Path) -> Result<String, BadInput> {
    let bytes = bytes_of(argument, path)?;
    String::from_utf8(bytes).map_err(|_| BadInput::new(argument, format!("{} is not text in UTF-8", path.display())))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("30", Some(30_000); "seconds")]
    #[test_case("0.5", Some(500); "a part of a second")]
    #[test_case("500ms", Some(500); "milliseconds")]
    #[test_case("1m 30s", Some(90_000); "several units")]
    #[test_case("soon", None; "a word")]
    #[test_case("-1", None; "below zero")]
    #[test_case("1e400", None; "no number")]
    fn durations_are_read_as_they_are_typed(text: &str, milliseconds: Option<u64>) {
        assert_eq!(duration(text).ok(), milliseconds.map(Duration::from_millis));
    }

    #[test]
    fn what_is_missing_is_named_and_no_value_is_shown() {
        let error = expanded("--header", "Bearer ${ONCEWIRE_SURELY_NOT_SET}").unwrap_err();
        assert_eq!(error.to_string(), "--header: the environment has no variable ONCEWIRE_SURELY_NOT_SET");
        let error = expanded("--header", "Bearer ${s3cret").unwrap_err();
        assert!(!error.to_string().contains("s3cret"));
    }

    #[test]
    fn a_text_without_variables_stays_as_it_is() {
        assert_eq!(expanded("URL", "http://a/$b/{c}").unwrap(), "http://a/$b/{c}");
    }
}
