//! What is a message, what is not, and what is kept of it.

use proptest::prelude::*;
use serde_json::json;
use test_case::test_case;

use super::*;

fn one(text: &str) -> Message {
    let mut messages = parse(text.as_bytes()).unwrap();
    assert_eq!(messages.len(), 1);
    messages.remove(0)
}

fn error(text: &str) -> (Option<Id>, ErrorObject) {
    match one(text) {
        Message::Error { id, error } => (id, error),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_result_stays_raw() {
    let text = "\u{feff} {\"x\":[{}],\"id\":7,\"result\": {\"n\": 123456789012345678901234567890, \"a\":1.0}}\r\n";
    let Message::Result { id, result } = one(text) else { panic!("no result") };
    assert!(id == 7);
    assert_eq!(result.get(), "{\"n\": 123456789012345678901234567890, \"a\":1.0}");
}

#[test]
fn a_result_may_be_null_and_may_lack_an_id() {
    let Message::Result { id, result } = one(r#"{"jsonrpc":"2.0","error":null,"result":null}"#) else {
        panic!("no result")
    };
    assert_eq!((id.as_ours(), result.get()), (None, "null"));
}

#[test]
fn of_result_and_error_the_error_wins() {
    let (id, error) =
        error(r#"{"jsonrpc":"2.0","id":"7","result":{},"error":{"code":-32602,"message":"no","data":[1]}}"#);
    assert!(id.unwrap() == 7);
    assert_eq!((error.code, error.message.as_str(), error.data.unwrap().get()), (-32602, "no", "[1]"));
    assert!(error.well_formed);
}

#[test_case(r#"{"error":"Session not found"}"#, 0, "Session not found"; "a text")]
#[test_case(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, 0, ""; "nothing in it")]
#[test_case(r#"{"jsonrpc":"2.0","error":{"code":"-32001","message":"gone"}}"#, -32001, "gone"; "the code as text")]
#[test_case(r#"{"jsonrpc":"2.0","error":{"code":-32001.0,"message":"gone"}}"#, -32001, "gone"; "the code as float")]
#[test_case(r#"{"jsonrpc":"2.0","error":{"code":[1],"message":{"a":1}}}"#, 0, r#"{"a":1}"#; "odd members")]
#[test_case(r#"{"jsonrpc":"2.0","error":{"code":1,"code":2}}"#, 0, r#"{"code":1,"code":2}"#; "a member twice")]
#[test_case(r#"{"jsonrpc":"2.0","error":["a"]}"#, 0, r#"["a"]"#; "an array")]
#[test_case(r#"{"error":{"code":502,"message":"upstream"}}"#, 502, "upstream"; "of a gateway")]
fn an_odd_error_is_an_error(text: &str, code: i64, message: &str) {
    let (id, error) = error(text);
    assert_eq!((error.code, error.message.as_str()), (code, message));
    assert!(id.is_none() && !error.well_formed);
}

#[test]
fn requests_and_notifications_are_told_apart_by_the_id() {
    let Message::Request { id, method, params } = one(r#"{"method":"roots/list","id":"s-1","params":{"a":1}}"#) else {
        panic!()
    };
    assert_eq!((id.to_json().as_str(), method.as_str(), params.unwrap().get()), ("\"s-1\"", "roots/list", "{\"a\":1}"));
    let Message::Notification { method, params } = one(r#"{"method":"notifications/message","id":null,"params":null}"#)
    else {
        panic!()
    };
    assert_eq!((method.as_str(), params.is_none()), ("notifications/message", true));
}

#[test]
fn an_array_gives_its_messages_and_passes_over_the_rest() {
    let messages = parse(br#" [{"id":1,"result":{}}, 5, [{"id":2,"result":{}}], {"a":1}, {"method":"m"}]"#).unwrap();
    assert!(matches!(&messages[..], [Message::Result { .. }, Message::Notification { .. }]));
}

#[test_case("", ParseError::Incomplete; "nothing")]
#[test_case(" \n", ParseError::Incomplete; "blanks")]
#[test_case("{\"id\":1,\"result\":{\"s3cret\":", ParseError::Incomplete; "half an object")]
#[test_case("{\"id\":1,\n\"result\":s3cret}", ParseError::NotJson { line: 2, column: 10 }; "a bare word")]
#[test_case("{\"id\":1,\"result\":{}} s3cret", ParseError::NotJson { line: 1, column: 22 }; "something after it")]
#[test_case("<html>s3cret</html>", ParseError::NotJson { line: 1, column: 1 }; "html")]
#[test_case("\"s3cret\"", ParseError::NotAnObject; "a string")]
#[test_case("12", ParseError::NotAnObject; "a number")]
#[test_case("{}", ParseError::NoMessage; "an empty object")]
#[test_case("{\"id\":1,\"error\":null,\"detail\":\"s3cret\"}", ParseError::NoMessage; "other members only")]
#[test_case("{\"id\":1,\"method\":5}", ParseError::NoMessage; "a method that is no string")]
#[test_case("[]", ParseError::NoMessage; "an empty array")]
#[test_case("[1]", ParseError::NoMessage; "an array of none")]
fn what_is_no_message_is_named_by_its_place(text: &str, expected: ParseError) {
    let found = parse(text.as_bytes()).unwrap_err();
    assert_eq!(found, expected);
    assert!(!found.to_string().contains("s3cret"));
}

#[test]
fn a_result_that_is_not_utf_8_is_not_json() {
    assert!(matches!(parse(b"{\"id\":1,\"result\":\"\xff\"}"), Err(ParseError::NotJson { line: 1, .. })));
}

#[test]
fn depth_does_not_overflow_the_stack() {
    // The small stack makes sure that a recursive reader would be caught.
    let deep = || {
        let (open, close) = ("[".repeat(1_000_000), "]".repeat(1_000_000));
        let Message::Result { result, .. } = one(&format!("{{\"x\":{open}{close},\"id\":1,\"result\":{open}{close}}}"))
        else {
            panic!("no result")
        };
        assert_eq!(result.get().len(), 2_000_000);
        assert!(matches!(parse(open.as_bytes()), Err(ParseError::Incomplete)));
        assert!(matches!(parse(format!("{open}{close}").as_bytes()), Err(ParseError::NoMessage)));
        let (id, error) =
            error(&format!("{{\"id\":{open}{close},\"error\":{{\"code\":{open}{close},\"message\":{open}{close}}}}}"));
        assert_eq!((id.unwrap().as_ours(), error.code, error.message.len()), (None, 0, 2_000_000));
    };
    std::thread::Builder::new().stack_size(256 * 1024).spawn(deep).unwrap().join().unwrap();
}

#[test]
fn what_we_write_is_one_json_object() {
    let params = Params::from_json("params", r#"{"n":12345678901234567890123}"#).unwrap();
    assert_eq!(
        request_bytes(3, "tools/call", &params),
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"n":12345678901234567890123}}"#
    );
    assert_eq!(request_bytes(4, "pi\"ng", &Params::none()), r#"{"jsonrpc":"2.0","id":4,"method":"pi\"ng"}"#);
    assert_eq!(
        notification_bytes("notifications/initialized", &Params::none()),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#
    );
    let Message::Request { id, .. } = one(r#"{"id":1.50,"method":"ping"}"#) else { panic!() };
    let result = RawValue::from_string("{\"a\": 1}".to_owned()).unwrap();
    assert_eq!(result_bytes(&id, &result), r#"{"jsonrpc":"2.0","id":1.50,"result":{"a": 1}}"#);
    let refusal: Value = serde_json::from_slice(&error_bytes(&id, -32601, "no \"such\"\nmethod")).unwrap();
    assert_eq!(
        refusal,
        json!({"jsonrpc": "2.0", "id": 1.5, "error": {"code": -32601, "message": "no \"such\"\nmethod"}})
    );
}

proptest! {
    #[test]
    fn no_bytes_panic_and_no_error_quotes_them(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        if let Err(error) = parse(&bytes) {
            prop_assert!(error.to_string().len() < 80);
        }
    }

    #[test]
    fn every_cut_of_a_message_is_incomplete(cut in 0_usize..51) {
        let whole = r#"{"jsonrpc":"2.0","id":1,"result":{"a":[true,"é\n"]}}"#.as_bytes();
        prop_assert_eq!(parse(&whole[..cut]).unwrap_err(), ParseError::Incomplete);
    }
}

#[test]
fn the_id_of_what_is_no_json_is_found_where_a_member_would_be() {
    for text in ["{\"id\":5,\"result\":", "{\"id\" : \"5\"", "[{\"id\":7},{\"id\": 5"] {
        assert!(names_id(text, 5), "{text}");
    }
    for text in ["{\"id\":55", "{\"id\"", "{\"id\":\"a5", "{\"text\":\"\\\"id\\\":5", "{\"aid\":5", "{}"] {
        assert!(!names_id(text, 5), "{text}");
    }
}
