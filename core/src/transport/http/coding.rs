//! Content codings (RFC 9110, section 8.4): a body that was compressed on the way is read as if it had not been.
//!
//! None is asked for: a stream of small events gains nothing by it, and a gateway that compresses holds events back. Some do it all the
//! same. A body is decoded as it arrives, in chunks of a fixed size that are made only when they are asked for, so that the bounds on
//! what is held count what was decoded, and a bomb costs no more memory than any other body.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use compression_codecs::core::util::{PartialBuffer, WriteBuffer};
use compression_codecs::{BrotliDecoder, DecodeV2, DeflateDecoder, GzipDecoder, ZlibDecoder};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use mzstd::{
    DecodeLimits, DecodeOperation, DecoderConfig, DecoderSessionOwned, DecoderStatus, Decompressor, FrameMode,
};

use super::super::exchange::{Cause, WireFailure};
use super::super::headers::codings;

/// What is decoded at a time.
const CHUNK: usize = 16 * 1024;
/// Codings in a row that are undone. Each has a window of its own, of 16 MiB at most.
const MOST: usize = 4;
/// RFC 9659: no body needs a larger window than 8 MiB.
const ZSTD_WINDOW_LOG: u8 = 23;

type Body = BoxStream<'static, Result<Bytes, WireFailure>>;

/// One coding that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    /// The names that RFC 9110, section 8.4.1, RFC 7932 and RFC 8878 give them.
    fn named(name: &str) -> Option<Self> {
        match name {
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "deflate" => Some(Self::Deflate),
            "br" => Some(Self::Brotli),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// The decoder of a body that begins with this byte.
    fn decoder(self, first: u8) -> Box<dyn DecodeV2 + Send> {
        match self {
            Self::Gzip => Box::new(GzipDecoder::new()),
            // It means zlib (RFC 1950); servers that send the bare stream (RFC 1951) have always been borne.
            Self::Deflate if first & 0x8f == 0x08 => Box::new(ZlibDecoder::new()),
            Self::Deflate => Box::new(DeflateDecoder::new()),
            Self::Brotli => Box::new(BrotliDecoder::new()),
            Self::Zstd => Box::new(ZstdDecoder::new()),
        }
    }

    /// Does another member begin with this byte? What else follows the end of a coded body is padding.
    fn goes_on(self, first: u8) -> bool {
        match self {
            Self::Gzip => first == 0x1f,
            // A frame, or one to be skipped.
            Self::Zstd => first == 0x28 || first & 0xf0 == 0x50,
            Self::Deflate | Self::Brotli => false,
        }
    }
}

/// The body as it was before it was coded. Where a coding is not known nothing is undone, and the headers keep it: see
/// [`unread_coding`](super::super::headers::unread_coding).
pub(super) fn decoded(headers: &mut HeaderMap, body: Body) -> Body {
    let Some(codings) = codings(headers).map(|name| Coding::named(&name)).collect::<Option<Vec<_>>>() else {
        return body;
    };
    if codings.is_empty() || codings.len() > MOST {
        return body;
    }
    headers.remove(CONTENT_ENCODING);
    headers.remove(CONTENT_LENGTH);
    // The last one named was applied last.
    codings.into_iter().rev().fold(body, undo)
}

fn undo(body: Body, coding: Coding) -> Body {
    let state = Undoing {
        body: Some(body),
        coding,
        decoder: None,
        input: Bytes::new(),
        full: false,
        done: false,
        broken: None,
    };
    stream::unfold(state, |mut state| async move { Some((state.next().await?, state)) }).boxed()
}

/// One coding in the middle of being undone.
struct Undoing {
    /// `None` once it has ended, or failed.
    body: Option<Body>,
    coding: Coding,
    /// `None` before the first byte.
    decoder: Option<Box<dyn DecodeV2 + Send>>,
    input: Bytes,
    /// The last chunk was full: the decoder may hold more of what it has read.
    full: bool,
    /// A whole member was read.
    done: bool,
    /// It cannot be read on; what was decoded before is delivered first.
    broken: Option<io::Error>,
}

impl Undoing {
    async fn next(&mut self) -> Option<Result<Bytes, WireFailure>> {
        loop {
            if let Some(error) = self.broken.take() {
                return self.fail(&error);
            }
            // All that was read is decoded before more is asked for: an event must not wait for the one after it, nor be lost with it.
            if self.body.is_some() && (self.full || !self.input.is_empty()) {
                let chunk = self.step();
                if !chunk.is_empty() {
                    return Some(Ok(chunk));
                }
                continue;
            }
            let read = self.body.as_mut()?.next();
            match read.await {
                Some(Ok(chunk)) => self.input = chunk,
                Some(Err(failure)) => {
                    self.body = None;
                    return Some(Err(failure));
                }
                // A body that never began is as empty as it looks.
                None if self.done || self.decoder.is_none() => {
                    self.body = None;
                    return None;
                }
                None => return self.fail(&io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }

    /// Decodes a chunk. Each call takes input, or gives output, or both.
    fn step(&mut self) -> Bytes {
        let first = self.input.first().copied();
        if self.done {
            if !first.is_some_and(|first| self.coding.goes_on(first)) {
                self.input.clear();
                return Bytes::new();
            }
            self.done = false;
            self.decoder = None;
        }
        let (decoder, coding) = (&mut self.decoder, self.coding);
        let decoder = decoder.get_or_insert_with(|| coding.decoder(first.unwrap_or_default()));
        let mut chunk = BytesMut::zeroed(CHUNK);
        let mut output = WriteBuffer::new_initialized(&mut chunk);
        let mut input = PartialBuffer::new(&*self.input);
        let decoded = decoder.decode(&mut input, &mut output);
        let (read, written) = (input.written_len(), output.written_len());
        let draining = self.input.is_empty();
        self.input.advance(read);
        self.full = written == CHUNK;
        match decoded {
            Ok(done) => {
                self.done = done;
                self.full &= !done;
            }
            // There was nothing more to be had.
            Err(_) if draining => self.full = false,
            Err(error) => self.broken = Some(error),
        }
        if read == 0 && written == 0 && !draining && !self.done && self.broken.is_none() {
            self.broken = Some(io::ErrorKind::InvalidData.into());
        }
        chunk.truncate(written);
        chunk.freeze()
    }

    fn fail(&mut self, error: &io::Error) -> Option<Result<Bytes, WireFailure>> {
        self.body = None;
        let source = format!("its {} coding cannot be undone: {error}", self.coding.name());
        Some(Err(WireFailure { cause: Cause::Other, source: Some(source.into()) }))
    }
}

/// One frame at a time.
struct ZstdDecoder(DecoderSessionOwned);

impl ZstdDecoder {
    fn new() -> Self {
        let limits = DecodeLimits::default();
        // The figure is one that it takes.
        let limits = limits.with_max_window_log(ZSTD_WINDOW_LOG).unwrap_or(limits);
        let config = DecoderConfig::default().with_frame_mode(FrameMode::Single).with_limits(limits);
        Self(Decompressor::new(config).into_session())
    }

    fn process(
        &mut self,
        input: &[u8],
        output: &mut WriteBuffer<'_>,
        operation: DecodeOperation,
    ) -> io::Result<(usize, bool)> {
        let progress = self
            .0
            .process(input, output.initialize_unwritten(), operation)
            .map_err(|failure| io::Error::other(failure.into_error()))?;
        output.advance(progress.produced);
        Ok((progress.consumed, progress.status == DecoderStatus::Finished))
    }
}

impl DecodeV2 for ZstdDecoder {
    fn reinit(&mut self) -> io::Result<()> {
        self.0.reinit();
        Ok(())
    }

    fn decode(&mut self, input: &mut PartialBuffer<&[u8]>, output: &mut WriteBuffer<'_>) -> io::Result<bool> {
        let (consumed, finished) = self.process(input.unwritten(), output, DecodeOperation::Process)?;
        input.advance(consumed);
        Ok(finished)
    }

    fn flush(&mut self, output: &mut WriteBuffer<'_>) -> io::Result<bool> {
        Ok(self.process(&[], output, DecodeOperation::Process)?.1)
    }

    fn finish(&mut self, output: &mut WriteBuffer<'_>) -> io::Result<bool> {
        Ok(self.process(&[], output, DecodeOperation::Finish)?.1)
    }
}

#[cfg(test)]
mod tests;
