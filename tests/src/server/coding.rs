//! Content codings, as a gateway applies them that was not asked.

use std::fmt;
use std::io::{self, Error};

use compression_codecs::brotli::params::EncoderParams;
use compression_codecs::core::Level;
use compression_codecs::core::util::{PartialBuffer, WriteBuffer};
use compression_codecs::flate::params::FlateEncoderParams;
use compression_codecs::{BrotliEncoder, DeflateEncoder, EncodeV2, GzipEncoder, ZlibEncoder};
use mzstd::{Compressor, EncoderConfig, EncoderSessionOwned, StreamConfig};

/// What a body goes through on its way out.
#[derive(Default)]
pub(super) struct Encoded {
    names: Vec<String>,
    stages: Vec<Stage>,
}

enum Stage {
    Codec(Box<dyn EncodeV2 + Send + Sync>),
    Zstd(EncoderSessionOwned),
}

impl fmt::Debug for Encoded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Encoded").field(&self.names).finish()
    }
}

impl Encoded {
    /// `deflate` is what the name means (RFC 9110, section 8.4.1.2), `raw-deflate` what some send under that name.
    pub(super) fn new(codings: &[String]) -> Self {
        let flate = || FlateEncoderParams::from(Level::Default);
        let stage = |name: &String| match name.as_str() {
            "gzip" | "x-gzip" => Some(Stage::Codec(Box::new(GzipEncoder::new(flate())))),
            "deflate" => Some(Stage::Codec(Box::new(ZlibEncoder::new(flate())))),
            "raw-deflate" => Some(Stage::Codec(Box::new(DeflateEncoder::new(flate())))),
            "br" => Some(Stage::Codec(Box::new(BrotliEncoder::new(EncoderParams::default().quality(Level::Fastest))))),
            "zstd" => {
                let compressor = Compressor::new(EncoderConfig::default()).ok()?;
                Some(Stage::Zstd(compressor.into_session(StreamConfig::default())))
            }
            _ => None,
        };
        let stages = codings.iter().filter_map(stage).collect();
        let names = codings.iter().map(|name| name.strip_prefix("raw-").unwrap_or(name).to_owned()).collect();
        Self { names, stages }
    }

    /// `None` if the body goes out as it is.
    pub(super) fn header(&self) -> Option<String> {
        (!self.names.is_empty()).then(|| self.names.join(", "))
    }

    /// A part of the body, flushed.
    pub(super) fn part(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        self.stages.iter_mut().try_fold(bytes.to_vec(), |bytes, stage| stage.encode(&bytes, false))
    }

    /// What ends the body.
    pub(super) fn rest(&mut self) -> io::Result<Vec<u8>> {
        let stages = std::mem::take(&mut self.stages).into_iter();
        stages.into_iter().try_fold(Vec::new(), |bytes, mut stage| stage.encode(&bytes, true))
    }
}

impl Stage {
    fn encode(&mut self, bytes: &[u8], last: bool) -> io::Result<Vec<u8>> {
        // Room for what nothing can be made of.
        let mut out = vec![0; bytes.len() * 2 + 4_096];
        let length = match self {
            Self::Codec(encoder) => {
                let mut output = WriteBuffer::new_initialized(&mut out);
                if !bytes.is_empty() {
                    encoder.encode(&mut PartialBuffer::new(bytes), &mut output)?;
                }
                let whole = if last { encoder.finish(&mut output)? } else { encoder.flush(&mut output)? };
                if !whole {
                    return Err(Error::other("no room"));
                }
                output.written_len()
            }
            Self::Zstd(session) => {
                let taken = session.process(bytes, &mut out, mzstd::Operation::Continue).map_err(Error::other)?;
                let room = out.get_mut(taken.produced..).unwrap_or_default();
                let ended = if last { session.finish(room) } else { session.flush(room) };
                taken.produced + ended.map_err(Error::other)?.produced
            }
        };
        out.truncate(length);
        Ok(out)
    }
}
