//! How often each step may be taken for one call.

use std::time::Duration;

/// Resends after ambiguous losses, per call.
pub const AMBIGUOUS_RESENDS: u32 = 2;
/// Losses of a session that a call lives through; the next one surfaces.
pub const SESSION_LOSSES: u32 = 2;
/// Recoveries that a call waits for, whatever made it ask for them.
pub const RECOVERIES: u32 = 2;
/// Resends after a 401, per call.
pub const REFRESHES: u32 = 1;
/// Resends after a 403 for want of scope, per call.
pub const STEP_UPS: u32 = 2;
/// Resends after a refused stream, per call.
pub const REFUSED_STREAMS: u32 = 1;
/// Resends after the server refused the version or the headers of a request, per call.
pub const TERMS_REFUSALS: u32 = 1;
/// Waits after a 429, per call.
pub const RATE_LIMIT_WAITS: u32 = 3;
/// Resumes in a row without a new event id.
pub const EMPTY_RESUMES: u32 = 3;
/// The longest `retry:` that a resume waits for.
pub const RESUME_WAIT_MAX: Duration = Duration::from_secs(60);
