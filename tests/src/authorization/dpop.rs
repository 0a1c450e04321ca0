//! Checks proofs of possession (RFC 9449, section 4.3).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::Value;

use crate::server::request::Request;

/// How far a proof's clock may be off, in seconds.
const SKEW: u64 = 300;

/// What the proof of a request shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Proved {
    /// The key with this thumbprint is held.
    By(String),
    /// There is none.
    NoProof,
    /// It is good, but lacks the nonce.
    NoNonce,
    /// It is not good.
    Wrong(&'static str),
}

/// Checks the proof of a request to `target`, with this token, and this nonce if one is wanted.
pub(super) fn check(request: &Request, target: &str, token: Option<&str>, nonce: Option<&str>) -> Proved {
    let proofs: Vec<_> = request.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("dpop")).collect();
    match proofs.as_slice() {
        [] => Proved::NoProof,
        [(_, proof)] => verified(proof, &request.method, target, token, nonce).unwrap_or_else(Proved::Wrong),
        _ => Proved::Wrong("more than one proof"),
    }
}

fn verified(
    proof: &str,
    method: &str,
    target: &str,
    token: Option<&str>,
    nonce: Option<&str>,
) -> Result<Proved, &'static str> {
    let (signed, signature) = proof.rsplit_once('.').ok_or("it is no JWT")?;
    let (header, claims) = signed.split_once('.').ok_or("it is no JWT")?;
    let (header, claims) = (json(header).ok_or("no header")?, json(claims).ok_or("no claims")?);
    if header["typ"] != "dpop+jwt" || header["alg"] != "ES256" {
        return Err("the header is wrong");
    }
    let jwk = &header["jwk"];
    let coordinate = |name: &str| jwk[name].as_str().and_then(bytes).filter(|bytes| bytes.len() == 32);
    let (x, y) = (coordinate("x").ok_or("no key")?, coordinate("y").ok_or("no key")?);
    if jwk["kty"] != "EC" || jwk["crv"] != "P-256" || jwk.get("d").is_some() {
        return Err("no public key of P-256");
    }
    let point = [vec![4], x, y].concat();
    let signature = bytes(signature).ok_or("no signature")?;
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
    key.verify(signed.as_bytes(), &signature).map_err(|_| "the signature is wrong")?;
    if claims["htm"] != method {
        return Err("htm is another method");
    }
    if claims["htu"] != target {
        return Err("htu is another URL");
    }
    if claims["jti"].as_str().is_none_or(str::is_empty) {
        return Err("jti is missing");
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
    if claims["iat"].as_u64().is_none_or(|iat| iat.abs_diff(now) > SKEW) {
        return Err("iat is not now");
    }
    if let Some(token) = token
        && claims["ath"] != hash(token.as_bytes())
    {
        return Err("ath is of another token");
    }
    if let Some(nonce) = nonce
        && claims["nonce"] != nonce
    {
        return Ok(Proved::NoNonce);
    }
    let (x, y) = (jwk["x"].as_str().unwrap_or_default(), jwk["y"].as_str().unwrap_or_default());
    // RFC 7638: the members that are required, in the order of their names.
    let canonical = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
    Ok(Proved::By(hash(canonical.as_bytes())))
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

fn json(text: &str) -> Option<Value> {
    serde_json::from_slice(&bytes(text)?).ok()
}

fn hash(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, bytes))
}
