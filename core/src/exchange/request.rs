//! What is asked for.

use http::HeaderMap;

use crate::rpc::params::Params;

/// What is asked for.
#[derive(Clone)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: Params,
    /// Headers for arguments of a tool that the server wants to see there.
    pub(crate) parameter_headers: HeaderMap,
}

impl<'a> Request<'a> {
    pub(crate) fn new(method: &'a str, params: Params) -> Self {
        Self { method, params, parameter_headers: HeaderMap::new() }
    }
}
