//! What the person at the browser sees at the end.

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;
use url::Url;

use crate::vocabulary::excerpt::printable;

/// How much of what the authorization server tells is shown, in bytes of each parameter.
const SHOWN: usize = 500;

/// A page of a heading and a line or two. It shows nothing of the code, the state or any other secret.
pub(super) struct Page {
    title: &'static str,
    text: String,
}

impl Page {
    /// The redirect that was waited for: a login, or the reason why there is none (RFC 6749, section 4.1.2.1).
    pub(super) fn of_redirect(url: &Url) -> Self {
        let parameter = |wanted: &str| {
            url.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| printable(value.as_bytes(), SHOWN).0)
        };
        let Some(error) = parameter("error") else {
            let text = "The login was received, and the program that asked for it goes on. You may close this window.";
            return Self { title: "Login received", text: text.to_owned() };
        };
        let reason = match parameter("error_description") {
            Some(description) => format!("{error}: {description}"),
            None => error,
        };
        let text = format!(
            "The authorization server answered: {}. The program that asked for the login was told. You may close this window.",
            reason.trim_end_matches('.')
        );
        Self { title: "Login refused", text }
    }

    /// A login is over, or was begun by somebody else.
    pub(super) fn another_login() -> Self {
        let text = "This belongs to no login that is waited for here. Go back to the program and begin again. You may close this window.";
        Self { title: "Not the login that is waited for", text: text.to_owned() }
    }

    /// The same redirect once more: a reload.
    pub(super) fn received_before() -> Self {
        let text = "It was received before. You may close this window.";
        Self { title: "Login received", text: text.to_owned() }
    }

    /// For all else.
    pub(super) fn nothing_here() -> Self {
        Self { title: "Nothing here", text: "A program waits for a login at this port.".to_owned() }
    }

    pub(super) fn with_status(&self, status: StatusCode) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.html())));
        *response.status_mut() = status;
        // No script, nothing from elsewhere, nothing kept, and the URL with the code goes to nobody.
        let headers: [(HeaderName, &'static str); 5] = [
            (CONTENT_TYPE, "text/html; charset=utf-8"),
            (
                CONTENT_SECURITY_POLICY,
                "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
            ),
            (CACHE_CONTROL, "no-store"),
            (REFERRER_POLICY, "no-referrer"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        for (name, value) in headers {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }

    fn html(&self) -> String {
        let (title, text) = (self.title, escaped(&self.text));
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <style>body {{ font: 1.1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 15vh auto; padding: 0 1rem; \
             color-scheme: light dark }}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<p>{text}</p>\n</body>\n</html>\n"
        )
    }
}

/// As text of HTML, in an element or an attribute.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(query: &str) -> String {
        Page::of_redirect(&Url::parse(&format!("http://127.0.0.1:1/callback?{query}")).unwrap()).html()
    }

    #[test]
    fn a_login_is_told_without_its_code() {
        let page = page("code=the-code&state=the-state&iss=https%3A%2F%2Fas.example");
        assert!(page.contains("Login received") && page.contains("You may close this window"), "{page}");
        assert!(!["the-code", "the-state", "as.example"].iter().any(|secret| page.contains(secret)), "{page}");
    }

    #[test]
    fn a_refusal_is_told_with_its_reason() {
        let page =
            page("error=access_denied&error_description=The+user+said+no.&state=the-state&error_uri=https%3A%2F%2Fx");
        assert!(
            page.contains("Login refused") && page.contains("access_denied: The user said no. The program"),
            "{page}"
        );
        assert!(!page.contains("the-state"), "{page}");
    }

    #[test]
    fn what_a_server_says_is_text() {
        let page = page("error=%3Cscript%3Ealert(1)%3C%2Fscript%3E&error_description=%22%27%26%00");
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;: &quot;&#39;&amp;."), "{page}");
    }

    #[test]
    fn a_long_reason_is_cut() {
        let page = page(&format!("error=x&error_description={}", "y".repeat(10_000)));
        assert_eq!(page.matches('y').count() - page_without_reason().matches('y').count(), SHOWN);
    }

    fn page_without_reason() -> String {
        page("error=x")
    }
}
