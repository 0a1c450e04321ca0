//! One request and its answer: how it goes out, how its answer is read, wherever that comes, and read on where its stream broke.

pub(crate) mod answer;
pub(crate) mod caller;
pub(crate) mod carrier;
pub(crate) mod elsewhere;
pub(crate) mod inbox;
pub(crate) mod line;
pub(crate) mod post;
pub(crate) mod request;
pub(crate) mod resume;
pub(crate) mod sent;
pub(crate) mod sse;
pub(crate) mod text;
pub(crate) mod wire;
