//! What a call is asked for with, and what it gives.

use serde_json::value::RawValue;
use uuid::Uuid;

use super::options::{CallExtras, CallOptions, IdempotencyKey};
use crate::protocol::era::Lifecycle;
use crate::rpc::params::Params;
use crate::vocabulary::method::Method;

/// What the caller asked for.
#[derive(Clone)]
pub(crate) struct Spec {
    pub(crate) method: Method,
    /// The tool, prompt or URI.
    pub(crate) name: Option<String>,
    pub(crate) params: Params,
    /// Options of the call, the tool and the client, put together.
    pub(crate) options: CallOptions,
    pub(crate) extras: CallExtras,
    /// It is one page of a list.
    pub(crate) page: Option<PageOf>,
}

/// One page of a list: part of a call that goes on.
#[derive(Clone, Copy, Default)]
pub(crate) struct PageOf {
    /// The generation that its cursor was given in; cursors do not outlive their session (MCP 2025-11-25, server, utilities, pagination).
    /// None for the first page, and for a cursor of which that is not known.
    pub(crate) generation: Option<u64>,
    /// It bears a cursor of the caller's, which belongs, unless it is known better, to the session that it is first sent on. There is no
    /// first page to begin again at.
    pub(crate) of_caller: bool,
}

impl PageOf {
    pub(super) fn bind(&mut self, generation: u64) {
        if self.of_caller {
            self.generation.get_or_insert(generation);
        }
    }

    pub(super) fn belongs_elsewhere(self, generation: u64) -> bool {
        self.generation.is_some_and(|given_in| given_in != generation)
    }
}

impl Spec {
    fn is_tool_call(&self) -> bool {
        self.method.as_str() == Method::CALL_TOOL.as_str()
    }

    /// The key of a further leg: the server has answered the one before, so this one must not look like its repetition.
    pub(super) fn key_of_leg(&self, leg: u32) -> Option<String> {
        match &self.extras.key {
            IdempotencyKey::Given(key) if self.is_tool_call() => Some(format!("{key}/{leg}")),
            _ => self.idempotency_key(),
        }
    }

    pub(super) fn idempotency_key(&self) -> Option<String> {
        match &self.extras.key {
            _ if !self.is_tool_call() => None,
            IdempotencyKey::Made => Some(Uuid::now_v7().to_string()),
            IdempotencyKey::Given(key) => Some(key.clone()),
            IdempotencyKey::Off => None,
        }
    }
}

/// A result, and where it came from.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) raw: Box<RawValue>,
    /// Of the session that it came on.
    pub(crate) generation: u64,
    pub(crate) lifecycle: Lifecycle,
    /// How many legs it took; one unless the server asked for something first.
    pub(crate) legs: u32,
}
