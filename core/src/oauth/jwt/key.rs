//! The private key of a client: read from PEM or DER, or made; what of it is public, and what it signs.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::error::KeyRejected;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::{Error as PemError, PemObject};
use serde::Serialize;

use crate::oauth::random::NoRandomness;

/// Why there is no key, or no signature. Holds nothing of the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyError {
    #[error(transparent)]
    Random(#[from] NoRandomness),
    #[error("{0}")]
    Unfit(String),
    #[error("nothing was signed: {0}")]
    Sign(String),
}

/// What is public of a key (RFC 7517), its members in the order of their names, as RFC 7638 (section 3.3) wants them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Jwk {
    Ec { crv: &'static str, kty: &'static str, x: String, y: String },
    Rsa { e: String, kty: &'static str, n: String },
}

impl Jwk {
    /// The SHA-256 thumbprint (RFC 7638): what `cnf.jkt` of a bound token says, and a `kid` that needs no agreement.
    pub(crate) fn thumbprint(&self) -> Result<String, KeyError> {
        let json = serde_json::to_vec(self).map_err(|error| KeyError::Sign(error.to_string()))?;
        Ok(URL_SAFE_NO_PAD.encode(digest(&SHA256, &json)))
    }
}

enum Pair {
    /// `ES256`: P-256 with SHA-256, the signature as r and s (RFC 7518, section 3.4).
    Es256(Box<EcdsaKeyPair>),
    /// `RS256` (RFC 7518, section 3.3), of 2,048 bits and more.
    Rs256(Box<RsaKeyPair>),
}

/// A private key that signs JWTs.
pub(crate) struct SigningKey {
    pair: Pair,
    public: Jwk,
    /// As it was read or made; only of P-256.
    pkcs8: Option<Vec<u8>>,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SigningKey").field("algorithm", &self.algorithm()).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// A new P-256 key.
    pub(crate) fn generate() -> Result<Self, KeyError> {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        Self::from_pkcs8(document.map_err(|_| NoRandomness)?.as_ref())
    }

    /// A key out of PEM: `PRIVATE KEY` (PKCS #8: P-256 or RSA) or `RSA PRIVATE KEY` (PKCS #1). The first key in it counts.
    pub(crate) fn from_pem(pem: &[u8]) -> Result<Self, KeyError> {
        let unfit = |text: &str| Err(KeyError::Unfit(text.to_owned()));
        match PrivateKeyDer::from_pem_slice(pem) {
            Ok(PrivateKeyDer::Pkcs8(der)) => Self::from_pkcs8(der.secret_pkcs8_der()),
            Ok(PrivateKeyDer::Pkcs1(der)) => {
                Self::of_rsa(RsaKeyPair::from_der(der.secret_pkcs1_der()).map_err(rejected)?)
            }
            Ok(_) => {
                unfit("it is PEM of another kind of private key: PKCS #8 is wanted (`openssl pkcs8 -topk8 -nocrypt`)")
            }
            // The errors of the PEM reader quote what they read.
            Err(PemError::NoItemsFound) => unfit("there is no PEM private key in it"),
            Err(_) => unfit("it is not valid PEM"),
        }
    }

    /// A key out of PKCS #8 DER, not encrypted: P-256 with its public key in it, or RSA.
    pub(crate) fn from_pkcs8(der: &[u8]) -> Result<Self, KeyError> {
        match EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &SystemRandom::new()) {
            Ok(pair) => Self::of_p256(pair, der),
            Err(as_p256) => match RsaKeyPair::from_pkcs8(der) {
                Ok(pair) => Self::of_rsa(pair),
                // Another algorithm: what the one says that it is of.
                Err(as_rsa) if as_rsa.to_string() == "WrongAlgorithm" => Err(rejected(as_p256)),
                Err(as_rsa) => Err(rejected(as_rsa)),
            },
        }
    }

    fn of_p256(pair: EcdsaKeyPair, der: &[u8]) -> Result<Self, KeyError> {
        // Uncompressed: 4, then both coordinates.
        let (x, y) = match pair.public_key().as_ref() {
            [4, point @ ..] if point.len() == 64 => point.split_at(32),
            _ => return Err(KeyError::Unfit("its public key is not a point of P-256".to_owned())),
        };
        let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
        let public = Jwk::Ec { crv: "P-256", kty: "EC", x, y };
        Ok(Self { pair: Pair::Es256(Box::new(pair)), public, pkcs8: Some(der.to_vec()) })
    }

    fn of_rsa(pair: RsaKeyPair) -> Result<Self, KeyError> {
        let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(pair.public());
        let public = Jwk::Rsa { e: URL_SAFE_NO_PAD.encode(e), kty: "RSA", n: URL_SAFE_NO_PAD.encode(n) };
        Ok(Self { pair: Pair::Rs256(Box::new(pair)), public, pkcs8: None })
    }

    /// The name of its algorithm (RFC 7518, section 3.1).
    pub(crate) fn algorithm(&self) -> &'static str {
        match self.pair {
            Pair::Es256(_) => "ES256",
            Pair::Rs256(_) => "RS256",
        }
    }

    /// What is public of it.
    pub(crate) fn jwk(&self) -> &Jwk {
        &self.public
    }

    /// The private key, to be stored: [`Self::from_pkcs8`] makes this key of it again. Only a P-256 key has it.
    pub(crate) fn pkcs8(&self) -> Option<&[u8]> {
        self.pkcs8.as_deref()
    }

    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let failed = |_| KeyError::Sign("the key did not sign".to_owned());
        match &self.pair {
            Pair::Es256(pair) => {
                pair.sign(&SystemRandom::new(), message).map(|signature| signature.as_ref().to_vec()).map_err(failed)
            }
            Pair::Rs256(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature).map_err(failed)?;
                Ok(signature)
            }
        }
    }
}

fn rejected(reason: KeyRejected) -> KeyError {
    KeyError::Unfit(format!(
        "the private key is not one that can be used ({reason}): P-256 (ES256) or RSA of 2,048 bits and more (RS256), not encrypted"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 7638, section 3.1.
    #[test]
    fn the_thumbprint_of_the_rfc() {
        let n = concat!(
            "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3okn",
            "jhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6q",
            "MQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awap",
            "JzKnqDKgw"
        );
        let jwk = Jwk::Rsa { e: "AQAB".to_owned(), kty: "RSA", n: n.to_owned() };
        assert_eq!(jwk.thumbprint().unwrap(), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
    }

    // RFC 9449, section 6.1, of the key of figure 2.
    #[test]
    fn the_thumbprint_of_a_bound_token() {
        let jwk = Jwk::Ec {
            crv: "P-256",
            kty: "EC",
            x: "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs".to_owned(),
            y: "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA".to_owned(),
        };
        assert_eq!(jwk.thumbprint().unwrap(), "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I");
    }
}
