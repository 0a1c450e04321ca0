use proptest::prelude::*;
use test_case::test_case;

use super::*;
use crate::transport::headers::from_caller;

const TOKEN: &str = "tok/en+one=s3cret";

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn with_headers(headers: &[(&str, &str)]) -> Secrets {
    Secrets::new(&url("http://server.test/mcp"), &from_caller(headers.iter().copied()).unwrap(), None)
}

fn with(secret: &str) -> Secrets {
    let secrets = Secrets::default();
    secrets.add_token(secret);
    secrets
}

#[test_case("tok/en+one=s3cret"; "as it is")]
#[test_case("Bearer tok/en+one=s3cret"; "with its scheme")]
#[test_case("tok%2Fen%2Bone%3Ds3cret"; "in a URL")]
#[test_case("tok%2fen+one%3ds3cret"; "in a URL, in part, with small letters")]
#[test_case(r"tok\/en+one=s3cret"; "in JSON")]
#[test_case(r"tok\u002Fen\u002bone=s3cret"; "in JSON by numbers")]
#[test_case("tok&#x2F;en&#43;one&#x3d;s3cret"; "in HTML")]
#[test_case("dG9rL2VuK29uZT1zM2NyZXQ="; "in base64")]
#[test_case("xtok/en+one=s3cretx"; "within a word")]
fn a_secret_is_found_however_it_is_written(written: &str) {
    let secrets = with(TOKEN);
    let cut = secrets.cut(written).into_owned();
    assert!(cut.contains(MARK), "{cut}");
    assert!(!cut.contains("s3cret") && !cut.contains("dG9r"), "{cut}");
    assert_eq!(secrets.cut("nothing of the kind"), "nothing of the kind");
    let page = format!("<html>é {written} é</html>");
    assert_eq!(secrets.cut(&page), page.replace(written, &cut));
}

#[test_case("pin7", "a pin7 b", "a [redacted] b"; "a short one alone")]
#[test_case("pin7", "a pin77 spin7 épin7", "a pin77 spin7 épin7"; "a short one within words")]
#[test_case("pin", "a pin", "a pin"; "too short to be cut")]
#[test_case("abcdefgh", "abcdefghabcdefgh", "[redacted]"; "side by side")]
fn short_secrets_are_cut_where_they_stand_alone(secret: &str, text: &str, shown: &str) {
    assert_eq!(with(secret).cut(text), shown);
}

#[test]
fn one_secret_within_another_is_cut_with_it() {
    let secrets = with_headers(&[("x-key", "abcd-middle-wxyz")]);
    secrets.add_token("middle-w");
    secrets.add_token("wxyz-further");
    assert_eq!(secrets.cut("abcd-middle-wxyz-further!"), "[redacted]!");
    assert_eq!(secrets.cut("middle-w"), "[redacted]");
}

#[test]
fn of_the_callers_headers_the_harmless_ones_are_no_secrets() {
    let secrets = with_headers(&[
        ("X-Api-Key", "hush-key"),
        ("Cookie", "sid=hush-cookie; theme=hush-theme"),
        ("Authorization", "Basic dXNlcjpodXNoLXBhc3M="),
        ("User-Agent", "an-agent"),
        ("Accept-Language", "de-DE,de"),
        ("Traceparent", "00-aaaaaaaa-bbbb-01"),
    ]);
    for secret in ["hush-key", "hush-cookie", "hush-theme", "dXNlcjpodXNoLXBhc3M", "user:hush-pass", "hush-pass"] {
        let cut = secrets.cut(secret).into_owned();
        assert!(cut.contains(MARK) && !cut.contains("hush"), "{secret}: {cut}");
    }
    for harmless in ["an-agent", "de-DE,de", "00-aaaaaaaa-bbbb-01"] {
        assert_eq!(secrets.cut(harmless), harmless);
    }
}

#[test]
fn of_the_url_values_of_the_query_and_made_up_parts_of_the_path_are_secrets() {
    let server = url("https://server.test:8443/api/0f3b9c1e-7a52-4d1f-8b/mcp?key=hush-query%2F1&v=2&hush-bare");
    let proxy = Some("http://user:hush-proxy@proxy.test:3128");
    let secrets = Secrets::new(&server, &HeaderMap::new(), proxy);
    for secret in
        ["hush-query/1", "hush-query%2F1", "hush-bare", "0f3b9c1e-7a52-4d1f-8b", "hush-proxy", "dXNlcjpodXNoLXByb3h5"]
    {
        assert_eq!(secrets.cut(secret), MARK, "{secret}");
    }
    assert_eq!(secrets.cut("Cannot POST /api/mcp"), "Cannot POST /api/mcp");
    assert_eq!(address(&server), "https://server.test:8443/api/[redacted]/mcp");
    assert_eq!(address(&url("http://[::1]:80/?key=x")), "http://[::1]/");
}

#[test]
fn an_excerpt_is_cut_before_it_is_shortened() {
    let secrets = with("abcdefghijklmnopqrst");
    // The secret begins before the end of the excerpt and goes on after it.
    let page = format!("{}abcdefghijklmnopqrst and more", "x".repeat(EXCERPT - 10));
    let shown = secrets.excerpt(page.as_bytes());
    assert!(shown.ends_with("x[redacted]") && shown.len() == EXCERPT, "{shown}");
    // And again and again, so that what is looked at ends within one.
    let page = "abcdefghijklmnopqrst".repeat(40_000);
    for begun in 0..20 {
        let shown = secrets.excerpt(page.get(begun..).unwrap().as_bytes());
        let rest = page.get(begun..20).unwrap_or_default();
        let rest = if begun == 0 { "" } else { rest };
        assert_eq!(shown, format!("{rest}{MARK}"));
    }
    assert_eq!(
        secrets.shown(&format!("{}abcdefghijklmnopqrst", "é".repeat(195)), 200),
        format!("{}[reda", "é".repeat(195))
    );
    assert_eq!(Secrets::default().excerpt("é".repeat(EXCERPT).as_bytes()).len(), EXCERPT);
}

#[test]
fn json_stays_json() {
    let secrets = with_headers(&[("x-key", "hush-key"), ("x-pin", "12345678"), ("x-object", r#"{"a":1}"#)]);
    let cut = |json: &str| secrets.cut_json(RawValue::from_string(json.to_owned()).unwrap()).get().to_owned();
    let untouched = r#"{"a": [1.50, "b\n"],  "c":null, "n": 123456789}"#;
    assert_eq!(cut(untouched), untouched);
    assert_eq!(
        cut(r#"{"hush-key": "a \"hush-key\" b", "n": 12345678, "e": "hush\u002dkey", "f":1e5}"#),
        r#"{"[redacted]": "a \"[redacted]\" b", "n": "[redacted]", "e": "[redacted]", "f":1e5}"#
    );
    // No text of it is the secret.
    assert_eq!(cut(r#"{"x":{"a":1}}"#), r#"{"x":{"a":1}}"#);
}

#[test]
fn the_id_of_a_session_stays_in_data_that_may_be_a_link() {
    let secrets = with("hush-token");
    secrets.add_session("5e55-10n1d");
    assert_eq!(secrets.cut("Session 5e55-10n1d not found"), "Session [redacted] not found");
    let data = r#"["https://server.test/login?session=5e55-10n1d&token=hush-token"]"#;
    let cut = secrets.cut_json(RawValue::from_string(data.to_owned()).unwrap());
    assert_eq!(cut.get(), r#"["https://server.test/login?session=5e55-10n1d&token=[redacted]"]"#);
}

#[test]
fn of_what_changes_the_latest_are_known_and_the_options_for_ever() {
    let secrets = with_headers(&[("x-key", "hush-key")]);
    secrets.add_token("hush-token");
    for number in 0..=RECENT {
        secrets.add_cookie(&format!("hush-{number:08}"));
        secrets.add_cookie(&format!("hush-{number:08}"));
    }
    assert_eq!(secrets.known().recent.len(), RECENT + 1);
    assert_eq!(
        secrets.cut("hush-00000000 hush-00000001 hush-key hush-token"),
        "hush-00000000 [redacted] [redacted] [redacted]"
    );
    assert!(!format!("{secrets:?}").contains("hush"));
}

proptest! {
    #[test]
    fn whatever_the_text_nothing_else_is_changed_and_the_secret_is_gone(
        pieces in proptest::collection::vec("[a-z%&;\\\\é]{1,12}", 1..6),
        written in prop::sample::select(vec!["S3CR/T=TS", "S3CR%2FT%3DTS", r"S3CR\u002fT=TS", "S3CR&#x2f;T&#61;TS"]),
    ) {
        let secrets = with("S3CR/T=TS");
        let text = pieces.join(written);
        prop_assert_eq!(secrets.cut(&text).into_owned(), text.replace(written, MARK).replace(&MARK.repeat(2), MARK));
    }

    #[test]
    fn no_text_makes_it_fail(text in "\\PC{0,200}", bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let secrets = with("a1b2");
        secrets.add_token("%2F&#x41;\\u");
        let _ = secrets.cut(&text);
        let _ = secrets.shown(&text, 20);
        let json = serde_json::Value::from(text).to_string();
        let cut = secrets.cut_json(RawValue::from_string(json).unwrap());
        prop_assert!(serde_json::from_str::<String>(cut.get()).is_ok());
        prop_assert!(secrets.excerpt(&bytes).len() <= EXCERPT);
    }
}
