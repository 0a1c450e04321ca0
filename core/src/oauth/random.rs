//! Texts that nobody can guess.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};

/// The system gives no random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gives no random bytes")]
pub(crate) struct NoRandomness;

/// 256 random bits as 43 characters that need no escape anywhere: a `state` (RFC 6749, section 10.12), a code verifier (RFC 7636,
/// section 4.1), a `jti` (RFC 7519, section 4.1.7).
pub(crate) fn unguessable() -> Result<String, NoRandomness> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_are_the_same() {
        let texts: HashSet<_> = (0..100).map(|_| unguessable().unwrap()).collect();
        assert_eq!(texts.len(), 100);
        let fit = |text: &String| {
            text.len() == 43 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        assert!(texts.iter().all(fit));
    }
}
