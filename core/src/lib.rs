//! oncewire.
