//! Hosts many servers at once and drives them over HTTP with JSON.
