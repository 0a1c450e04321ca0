//! Where the secrets are in a text, however they are written.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::escapes;

/// What stands in the place of a secret.
pub(super) const MARK: &str = "[redacted]";
/// The shortest secret that is cut out also from within a word.
pub(super) const ANYWHERE: usize = 8;

/// Finds secrets in texts.
pub(super) struct Finder {
    automaton: AhoCorasick,
    /// Bytes of the longest way to write one of them, but for escapes.
    pub(super) longest: usize,
}

impl Finder {
    pub(super) fn new<'a>(secrets: impl Iterator<Item = &'a Arc<str>>) -> Option<Self> {
        let mut needles = Vec::new();
        for secret in secrets {
            needles.push(secret.to_string());
            // Base64 is often written without its padding.
            needles.extend(Some(secret.trim_end_matches('=')).filter(|bare| bare.len() >= ANYWHERE).map(str::to_owned));
            needles.push(STANDARD_NO_PAD.encode(&**secret));
            needles.push(URL_SAFE_NO_PAD.encode(&**secret));
        }
        let longest = needles.iter().map(String::len).max()?;
        let automaton = AhoCorasick::builder().kind(Some(AhoCorasickKind::NoncontiguousNFA)).build(needles).ok()?;
        Some(Self { automaton, longest })
    }

    pub(super) fn cut<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.cut_until(text, text.len())
    }

    /// The text up to there, without secrets; one that begins before and ends after is cut out.
    pub(super) fn cut_until<'a>(&self, text: &'a str, until: usize) -> Cow<'a, str> {
        let spans = self.spans(text);
        if spans.is_empty() && until >= text.len() {
            return Cow::Borrowed(text);
        }
        let mut cut = String::new();
        let mut done = 0;
        for span in spans.into_iter().take_while(|span| span.start < until) {
            cut.push_str(text.get(done..span.start).unwrap_or_default());
            cut.push_str(MARK);
            done = span.end;
        }
        let end = (done..=until.max(done)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(done);
        cut.push_str(text.get(done..end).unwrap_or_default());
        Cow::Owned(cut)
    }

    /// Where the secrets are, in order, none in another.
    pub(super) fn spans(&self, text: &str) -> Vec<Range<usize>> {
        let bytes = text.as_bytes();
        let mut spans: Vec<Range<usize>> = self.in_bytes(bytes).collect();
        if let Some(unescaped) = escapes::unescape(bytes) {
            spans.extend(self.in_bytes(&unescaped.bytes).map(|span| unescaped.source(&span)));
        }
        spans.sort_unstable_by_key(|span| span.start);
        spans.dedup_by(|next, span| {
            let overlaps = next.start <= span.end;
            if overlaps {
                span.end = span.end.max(next.end);
            }
            overlaps
        });
        spans
    }

    fn in_bytes<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = Range<usize>> + 'a {
        let in_word = |at: Option<usize>| {
            at.and_then(|at| bytes.get(at)).is_some_and(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
        };
        self.automaton.find_overlapping_iter(bytes).map(|found| found.range()).filter(move |span| {
            span.len() >= ANYWHERE || !(in_word(span.start.checked_sub(1)) || in_word(Some(span.end)))
        })
    }
}
