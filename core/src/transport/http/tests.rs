//! Canaries on real sockets: each fact that a promise rests on.
