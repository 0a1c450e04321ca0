//! JSON Web Tokens that a client signs (RFC 7515, RFC 7519): the assertion that it is the client, and the proof that it holds a key.

mod assertion;
mod dpop;
mod key;

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;

pub(crate) use self::assertion::{ASSERTION_TYPE, ClientAssertion};
pub(crate) use self::dpop::DpopProof;
pub(crate) use self::key::{KeyError, SigningKey};

/// Header and claims, signed, in the compact form (RFC 7515, section 3.1).
fn compact(key: &SigningKey, header: &impl Serialize, claims: &impl Serialize) -> Result<String, KeyError> {
    let part = |json: Result<Vec<u8>, serde_json::Error>| json.map(|json| URL_SAFE_NO_PAD.encode(json));
    let signed = part(serde_json::to_vec(header)).and_then(|header| {
        let claims = part(serde_json::to_vec(claims))?;
        Ok(format!("{header}.{claims}"))
    });
    let signed = signed.map_err(|error| KeyError::Sign(error.to_string()))?;
    let signature = URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes())?);
    Ok(format!("{signed}.{signature}"))
}

/// A `NumericDate` in whole seconds (RFC 7519, section 2).
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests;
