//! Every coding, whole, in pieces, cut, spoilt, and far larger than it looks.

use compression_codecs::brotli::params::EncoderParams;
use compression_codecs::core::Level;
use compression_codecs::{BrotliEncoder, DeflateEncoder, EncodeV2, GzipEncoder, ZlibEncoder};
use futures_util::FutureExt;
use http::HeaderValue;
use mzstd::{Compressor, EncoderConfig, Operation, StreamConfig};
use proptest::prelude::*;
use test_case::test_case;

use super::*;
use crate::transport::limits::{Uncollected, collect};

/// How a body is coded; the second name is the one in the header.
const CODINGS: [(&str, &str); 5] =
    [("gzip", "gzip"), ("zlib", "deflate"), ("deflate", "deflate"), ("br", "br"), ("zstd", "zstd")];

/// The parts, coded, each flushed on its own: a chunk for each, and one for the end.
fn coded(how: &str, parts: &[&[u8]]) -> Vec<Bytes> {
    if how == "zstd" {
        return zstd(parts);
    }
    let flate = || compression_codecs::flate::params::FlateEncoderParams::from(Level::Default);
    let mut encoder: Box<dyn EncodeV2> = match how {
        "gzip" => Box::new(GzipEncoder::new(flate())),
        "zlib" => Box::new(ZlibEncoder::new(flate())),
        "deflate" => Box::new(DeflateEncoder::new(flate())),
        _ => Box::new(BrotliEncoder::new(EncoderParams::default())),
    };
    let mut out = vec![0; 1 << 20];
    let mut chunks = Vec::new();
    for part in parts {
        let mut output = WriteBuffer::new_initialized(&mut out);
        let mut input = PartialBuffer::new(*part);
        encoder.encode(&mut input, &mut output).unwrap();
        assert!(input.unwritten().is_empty());
        assert!(encoder.flush(&mut output).unwrap());
        chunks.push(Bytes::copy_from_slice(output.written()));
    }
    let mut output = WriteBuffer::new_initialized(&mut out);
    assert!(encoder.finish(&mut output).unwrap());
    chunks.push(Bytes::copy_from_slice(output.written()));
    chunks
}

fn zstd(parts: &[&[u8]]) -> Vec<Bytes> {
    let mut session = Compressor::new(EncoderConfig::default()).unwrap().into_session(StreamConfig::default());
    let mut chunks = Vec::new();
    let mut out = vec![0; 1 << 20];
    for part in parts {
        let taken = session.process(part, &mut out, Operation::Continue).unwrap();
        assert_eq!(taken.consumed, part.len());
        let flushed = session.flush(&mut out[taken.produced..]).unwrap();
        chunks.push(Bytes::copy_from_slice(&out[..taken.produced + flushed.produced]));
    }
    let end = session.finish(&mut out).unwrap();
    chunks.push(Bytes::copy_from_slice(&out[..end.produced]));
    chunks
}

fn header(name: &'static str) -> HeaderMap {
    [(CONTENT_ENCODING, HeaderValue::from_static(name)), (CONTENT_LENGTH, HeaderValue::from_static("7"))]
        .into_iter()
        .collect()
}

fn body(chunks: Vec<Bytes>) -> Body {
    stream::iter(chunks.into_iter().map(Ok)).boxed()
}

/// What comes out of it, and the failure that it ends with, as far as there is one.
async fn read(coding: &'static str, chunks: Vec<Bytes>) -> (Vec<u8>, Option<WireFailure>) {
    let mut body = decoded(&mut header(coding), body(chunks));
    let mut all = Vec::new();
    while let Some(chunk) = body.next().await {
        match chunk {
            Ok(chunk) => all.extend_from_slice(&chunk),
            Err(failure) => {
                assert!(body.next().await.is_none(), "nothing follows a failure");
                return (all, Some(failure));
            }
        }
    }
    (all, None)
}

fn joined(chunks: &[Bytes]) -> Vec<u8> {
    chunks.concat()
}

fn in_pieces(bytes: &[u8], size: usize) -> Vec<Bytes> {
    bytes.chunks(size).map(Bytes::copy_from_slice).collect()
}

#[tokio::test]
async fn a_body_is_the_same_in_whatever_pieces_it_comes() {
    let text: Vec<u8> = (0..10_000_u32).flat_map(|n| n.to_le_bytes()).collect();
    for (how, coding) in CODINGS {
        let whole = joined(&coded(how, &[&text]));
        for size in [1, 3, 1_000, whole.len()] {
            let (read, failure) = read(coding, in_pieces(&whole, size)).await;
            assert!(failure.is_none(), "{how} in pieces of {size}: {failure:?}");
            assert!(read == text, "{how} in pieces of {size}");
        }
    }
}

#[tokio::test]
async fn what_is_flushed_is_read_before_more_comes() {
    for (how, coding) in CODINGS {
        let chunks = coded(how, &[b"data: first\n\n", b"data: second\n\n"]);
        let first = stream::iter([Ok(chunks[0].clone())]).chain(stream::pending());
        let mut body = decoded(&mut header(coding), first.boxed());
        // An event that is here is delivered, whether the next one ever comes or not.
        let mut read = Vec::new();
        while read.len() < 13 {
            let chunk = body.next().now_or_never().unwrap_or_else(|| panic!("{how} holds it back: {read:?}"));
            read.extend_from_slice(&chunk.unwrap().unwrap());
        }
        assert_eq!(read, b"data: first\n\n", "{how}");
    }
}

#[tokio::test]
async fn what_came_before_a_break_is_delivered() {
    for (how, coding) in CODINGS {
        let chunks = coded(how, &[b"data: whole\n\n", b"data: never\n\n"]);
        let broken = vec![Ok(chunks[0].clone()), Err(WireFailure::new(Cause::Reset))];
        let mut body = decoded(&mut header(coding), stream::iter(broken).boxed());
        assert_eq!(body.next().await.unwrap().unwrap(), "data: whole\n\n", "{how}");
        assert_eq!(body.next().await.unwrap().unwrap_err().cause, Cause::Reset, "{how}");
        assert!(body.next().await.is_none(), "{how}");
    }
}

#[tokio::test]
async fn several_codings_are_undone_from_the_last_on() {
    let gzip = joined(&coded("gzip", &[b"{}"]));
    let twice = joined(&coded("br", &[&gzip]));
    assert_eq!(read("gzip, br", vec![twice.into()]).await.0, b"{}");
    assert_eq!(read("X-GZip, identity", vec![gzip.clone().into()]).await.0, b"{}");
    let mut headers = header("gzip");
    headers.append(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    let twice = joined(&coded("gzip", &[&gzip]));
    assert_eq!(collect(decoded(&mut headers, body(vec![twice.into()])), 9).await.unwrap(), "{}");
    assert!(!headers.contains_key(CONTENT_ENCODING) && !headers.contains_key(CONTENT_LENGTH));
}

#[test_case("sdch"; "unknown")]
#[test_case("gzip, sdch"; "unknown among known ones")]
#[test_case("gzip, gzip, gzip, gzip, gzip"; "too many")]
#[test_case("utf-8"; "no coding at all")]
#[tokio::test]
async fn what_is_not_known_is_left_as_it_is_and_named(coding: &'static str) {
    let mut headers = header(coding);
    let left = decoded(&mut headers, body(vec![Bytes::from_static(b"{}")]));
    assert_eq!(collect(left, 9).await.unwrap(), "{}");
    assert_eq!(crate::transport::headers::unread_coding(&headers).unwrap(), coding);
}

#[tokio::test]
async fn a_body_that_ends_early_is_broken_and_an_empty_one_is_empty() {
    for (how, coding) in CODINGS {
        let whole = joined(&coded(how, &[b"{\"jsonrpc\":\"2.0\"}"]));
        for length in 1..whole.len() {
            let (read, failure) = read(coding, vec![Bytes::copy_from_slice(&whole[..length])]).await;
            let source = failure.unwrap_or_else(|| panic!("{how} of {length}: {read:?}")).source.unwrap();
            assert!(source.to_string().contains(coding), "{source}");
        }
        let (read, failure) = read(coding, vec![Bytes::new()]).await;
        assert!(read.is_empty() && failure.is_none(), "{how}: {failure:?}");
    }
}

#[tokio::test]
async fn members_follow_each_other_and_padding_is_none() {
    for how in ["gzip", "zstd"] {
        let one = joined(&coded(how, &[b"one"]));
        let two = joined(&coded(how, &[b"two"]));
        let (read, failure) = read(how, vec![[one, two, vec![0; 9]].concat().into()]).await;
        assert_eq!(read, b"onetwo", "{how}");
        assert!(failure.is_none(), "{how}: {failure:?}");
    }
}

#[tokio::test]
async fn a_bomb_costs_no_more_than_the_limit() {
    for (how, coding) in CODINGS {
        let zeros = vec![0; 4 << 20];
        let bomb = joined(&coded(how, &[&zeros]));
        assert!(bomb.len() < 1 << 17, "{how}: {}", bomb.len());
        let limited = collect(decoded(&mut header(coding), body(vec![bomb.clone().into()])), 256 << 10).await;
        assert!(matches!(limited, Err(Uncollected::TooLarge)), "{how}");
        // No chunk is larger than one that was not coded.
        let mut whole = decoded(&mut header(coding), body(vec![bomb.into()]));
        let mut length = 0;
        while let Some(chunk) = whole.next().await {
            let chunk = chunk.unwrap();
            assert!(chunk.len() <= CHUNK, "{how}: {}", chunk.len());
            length += chunk.len();
        }
        assert_eq!(length, zeros.len(), "{how}");
    }
}

#[tokio::test]
async fn a_window_beyond_that_of_the_web_is_refused() {
    // A frame header that asks for a window of 128 MiB, and one raw block.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 17 << 3, 0x09, 0x00, 0x00, b'x'];
    let (read, failure) = read("zstd", vec![Bytes::copy_from_slice(&frame)]).await;
    assert!(read.is_empty() && failure.is_some(), "{read:?}");
}

proptest! {
    /// Whatever comes: no panic, no end without an end.
    #[test]
    fn noise_ends(
        how in 0..CODINGS.len(),
        noise in proptest::collection::vec(any::<u8>(), 0..600),
        at in 0_usize..300,
        flip in 1_u8..,
        size in 1_usize..200,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (how, coding) = CODINGS[how];
        let mut spoilt = joined(&coded(how, &[b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", b"and on, and on, and on, and on"]));
        let at = at % spoilt.len();
        spoilt[at] ^= flip;
        for bytes in [noise, spoilt] {
            runtime.block_on(read(coding, in_pieces(&bytes, size)));
        }
    }
}
