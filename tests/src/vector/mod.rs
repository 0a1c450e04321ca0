//! The scenarios: format, expansion, judge.
