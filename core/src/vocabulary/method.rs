//! The methods a client may call, and how repeatable each is by its own definition.

use std::borrow::Cow;
use std::fmt;

/// May a call of this method be sent again after an ambiguous loss?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Repeatability {
    /// It only reads: listing, reading, completing, ping.
    Read,
    /// It sets a state; setting it twice is setting it once.
    Idempotent,
    /// The tool decides: by its hints, or by the caller's leave.
    ByTool,
    /// Nothing is known of it: a raw request.
    Never,
}

/// A method of MCP, or any other that the caller names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Method(Cow<'static, str>);

impl Method {
    /// `ping`
    pub const PING: Self = Self(Cow::Borrowed("ping"));
    /// `tools/list`
    pub const LIST_TOOLS: Self = Self(Cow::Borrowed("tools/list"));
    /// `tools/call`
    pub const CALL_TOOL: Self = Self(Cow::Borrowed("tools/call"));
    /// `resources/list`
    pub const LIST_RESOURCES: Self = Self(Cow::Borrowed("resources/list"));
    /// `resources/templates/list`
    pub const LIST_RESOURCE_TEMPLATES: Self = Self(Cow::Borrowed("resources/templates/list"));
    /// `resources/read`
    pub const READ_RESOURCE: Self = Self(Cow::Borrowed("resources/read"));
    /// `resources/subscribe`
    pub const SUBSCRIBE: Self = Self(Cow::Borrowed("resources/subscribe"));
    /// `resources/unsubscribe`
    pub const UNSUBSCRIBE: Self = Self(Cow::Borrowed("resources/unsubscribe"));
    /// `prompts/list`
    pub const LIST_PROMPTS: Self = Self(Cow::Borrowed("prompts/list"));
    /// `prompts/get`
    pub const GET_PROMPT: Self = Self(Cow::Borrowed("prompts/get"));
    /// `completion/complete`
    pub const COMPLETE: Self = Self(Cow::Borrowed("completion/complete"));
    /// `logging/setLevel`
    pub const SET_LOG_LEVEL: Self = Self(Cow::Borrowed("logging/setLevel"));

    /// A method that has no name of its own here.
    #[must_use]
    pub fn raw(name: impl Into<String>) -> Self {
        Self(Cow::Owned(name.into()))
    }

    /// Was it made by [`Method::raw`]?
    pub(crate) fn is_raw(&self) -> bool {
        matches!(self.0, Cow::Owned(_))
    }

    /// Is there nothing to read in its result? Then any will do: that it was answered is all.
    pub(crate) fn gives_nothing(&self) -> bool {
        [Self::PING, Self::SET_LOG_LEVEL, Self::SUBSCRIBE, Self::UNSUBSCRIBE].contains(self)
    }

    /// The name on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// How repeatable the method is by its own definition. A method made by [`Method::raw`] is `never`, also if it bears a known
    /// name: whoever goes past the typed API says by `resend` what is safe.
    #[must_use]
    pub fn repeatability(&self) -> Repeatability {
        let Cow::Borrowed(name) = self.0 else { return Repeatability::Never };
        match name {
            "tools/call" => Repeatability::ByTool,
            "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => Repeatability::Idempotent,
            _ => Repeatability::Read,
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
