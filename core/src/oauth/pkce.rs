//! Proof Key for Code Exchange (RFC 7636), by SHA-256 only.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};

use super::random::{NoRandomness, unguessable};

/// The only `code_challenge_method` that is used; OAuth 2.1 has no other.
pub(crate) const METHOD: &str = "S256";

/// The verifier of one authorization request, which is secret, and the challenge that goes out with it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Pkce {
    verifier: String,
    challenge: String,
}

impl Pkce {
    /// A new one.
    pub(crate) fn generate() -> Result<Self, NoRandomness> {
        Ok(Self::of(unguessable()?))
    }

    fn of(verifier: String) -> Self {
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        Self { verifier, challenge }
    }

    /// The `code_verifier` of the token request.
    pub(crate) fn verifier(&self) -> &str {
        &self.verifier
    }

    /// The `code_challenge` of the authorization request: `BASE64URL(SHA256(verifier))` (section 4.2).
    pub(crate) fn challenge(&self) -> &str {
        &self.challenge
    }
}

impl fmt::Debug for Pkce {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Pkce").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 7636, appendix B.
    #[test]
    fn the_example_of_the_rfc() {
        let pkce = Pkce::of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned());
        assert_eq!(pkce.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn the_verifier_is_new_each_time_and_is_not_shown() {
        let (one, other) = (Pkce::generate().unwrap(), Pkce::generate().unwrap());
        assert_ne!(one.verifier(), other.verifier());
        // Section 4.1: 43 to 128 characters.
        assert_eq!(one.verifier().len(), 43);
        assert_eq!(METHOD, "S256");
        assert_eq!(format!("{one:?}"), "Pkce { .. }");
    }
}
