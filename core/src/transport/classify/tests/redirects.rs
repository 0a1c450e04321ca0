//! Which redirects are followed.

use http::header::LOCATION;
use url::Url;

use super::{headers, status};
use crate::transport::classify::{Redirect, redirect};

fn from(url: &str, code: u16, location: &str) -> Redirect {
    redirect(status(code), &headers(&[(LOCATION, location)]), &Url::parse(url).unwrap())
}

fn follow(url: &str) -> Redirect {
    Redirect::Follow(Url::parse(url).unwrap())
}

fn refuse(url: &str) -> Redirect {
    Redirect::Refuse(Url::parse(url).unwrap())
}

const HERE: &str = "http://127.0.0.1:8000/mcp";

#[test]
fn a_307_or_308_to_the_same_origin_is_followed() {
    for code in [307, 308] {
        for (location, target) in [
            ("/mcp/", "http://127.0.0.1:8000/mcp/"),
            ("mcp/", "http://127.0.0.1:8000/mcp/"),
            ("http://127.0.0.1:8000/other?a=b", "http://127.0.0.1:8000/other?a=b"),
            ("//127.0.0.1:8000/mcp/", "http://127.0.0.1:8000/mcp/"),
            ("/mcp/#part", "http://127.0.0.1:8000/mcp/"),
        ] {
            assert_eq!(from(HERE, code, location), follow(target), "{code} {location}");
        }
    }
    assert_eq!(from("https://a.example/mcp", 308, "https://A.example:443/mcp/"), follow("https://a.example/mcp/"));
}

#[test]
fn any_other_redirect_is_named_and_not_followed() {
    for code in [300, 301, 302, 303, 305, 306] {
        assert_eq!(from(HERE, code, "/mcp/"), refuse("http://127.0.0.1:8000/mcp/"), "{code}");
    }
}

#[test]
fn another_origin_is_never_followed() {
    for (here, location) in [
        (HERE, "http://127.0.0.1:8001/mcp"),
        (HERE, "http://localhost:8000/mcp"),
        (HERE, "https://127.0.0.1:8000/mcp"),
        ("http://a.example/mcp", "https://a.example/mcp"),
        ("https://a.example/mcp", "http://a.example/mcp"),
        ("https://a.example/mcp", "https://b.a.example/mcp"),
        ("https://a.example/mcp", "https://a.example:444/mcp"),
    ] {
        for code in [307, 308] {
            assert_eq!(from(here, code, location), refuse(location), "{here} {location}");
        }
    }
}

#[test]
fn credentials_in_a_target_are_neither_used_nor_named() {
    assert_eq!(from(HERE, 307, "http://me:secret@127.0.0.1:8000/mcp/"), refuse("http://127.0.0.1:8000/mcp/"));
    assert_eq!(from(HERE, 307, "http://me@127.0.0.1:8000/mcp/"), refuse("http://127.0.0.1:8000/mcp/"));
    assert_eq!(from(HERE, 302, "http://me:secret@b.example/"), refuse("http://b.example/"));
}

#[test]
fn our_own_credentials_go_on_to_the_same_origin_only() {
    let here = "http://me:secret@127.0.0.1:8000/mcp";
    let there = "http://me:secret@127.0.0.1:8000/mcp/";
    assert_eq!(from(here, 307, "/mcp/"), follow(there));
    assert_eq!(from(here, 307, "http://127.0.0.1:8000/mcp/"), follow(there));
    assert_eq!(from(here, 302, "/mcp/"), refuse("http://127.0.0.1:8000/mcp/"));
}

#[test]
fn without_a_usable_target_it_is_no_redirect() {
    let here = Url::parse(HERE).unwrap();
    assert_eq!(redirect(status(307), &http::HeaderMap::new(), &here), Redirect::None);
    for location in ["http://", "http://[::1", "mailto:me@example.com", "data:,x"] {
        assert_eq!(from(HERE, 307, location), Redirect::None, "{location}");
    }
    for code in [200, 201, 404] {
        assert_eq!(from(HERE, code, "/mcp/"), Redirect::None, "{code}");
    }
}
