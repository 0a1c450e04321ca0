//! One request, as an inspector wants it.

use std::time::Duration;

use http::{HeaderName, HeaderValue};
use serde_json::Value;

/// How long an answer is waited for unless it is said otherwise.
const PATIENCE: Duration = Duration::from_secs(10);

/// One request to the server.
#[derive(Clone, Debug)]
#[must_use = "nothing is asked until a prober is given it"]
pub struct Ask {
    pub(super) what: What,
    pub(super) session: Option<String>,
    pub(super) version: Option<String>,
    pub(super) modern: bool,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) anonymous: bool,
    pub(super) raw: bool,
    pub(super) patience: Duration,
}

/// What is asked.
#[derive(Clone, Debug)]
pub(super) enum What {
    Request { method: String, params: Value },
    Notification { method: String },
    Listen,
    Resume { after: String },
    End,
}

impl Ask {
    fn new(what: What) -> Self {
        Self {
            what,
            session: None,
            version: None,
            modern: false,
            headers: Vec::new(),
            anonymous: false,
            raw: false,
            patience: PATIENCE,
        }
    }

    /// A POST of a request with these params, an object.
    pub fn request(method: impl Into<String>, params: Value) -> Self {
        Self::new(What::Request { method: method.into(), params })
    }

    /// A POST of a notification.
    pub fn notification(method: impl Into<String>) -> Self {
        Self::new(What::Notification { method: method.into() })
    }

    /// A GET of the stream on which the server may speak unasked.
    pub fn listen() -> Self {
        Self::new(What::Listen)
    }

    /// A GET that reads on after the event with this id.
    pub fn resume(after: impl Into<String>) -> Self {
        Self::new(What::Resume { after: after.into() })
    }

    /// A DELETE of the session.
    pub fn end() -> Self {
        Self::new(What::End)
    }

    /// On this session.
    pub fn session(mut self, id: Option<&str>) -> Self {
        self.session = id.map(str::to_owned);
        self
    }

    /// Under this version of the protocol.
    pub fn version(mut self, version: Option<&str>) -> Self {
        self.version = version.map(str::to_owned);
        self
    }

    /// As a request of the modern era, of this version: its metadata is in the body, and in headers.
    pub fn modern(mut self, version: &str) -> Self {
        self.modern = true;
        self.version(Some(version))
    }

    /// With one more header, in the place of an equal one.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Without a login. The caller's other headers stay. As it is: see [`Self::raw`].
    pub fn anonymous(mut self) -> Self {
        self.anonymous = true;
        self.raw()
    }

    /// As it is: no redirect is followed, and no cookie is sent.
    pub fn raw(mut self) -> Self {
        self.raw = true;
        self
    }

    /// How long the answer is waited for, its end included. Default: 10 s.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}
