//! The names of headers that differ in each request, whoever sends it.

use http::HeaderName;

/// Headers that follow one request through the systems and say nothing of whose it is (W3C Trace Context, and its forerunners).
pub(crate) const TRACING: [HeaderName; 4] = [
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("tracestate"),
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("x-correlation-id"),
];
