//! The params of a request.
