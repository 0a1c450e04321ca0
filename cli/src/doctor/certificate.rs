//! How long a certificate is good yet.

use x509_parser::prelude::{FromDer, X509Certificate};

/// Whole days until it ends; below zero when it has ended. None if it cannot be read.
pub(super) fn days_left(der: &[u8]) -> Option<i64> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    let left = certificate.validity().not_after.timestamp() - i64::try_from(now.as_secs()).ok()?;
    Some(left.div_euclid(24 * 60 * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_until_the_last_second() {
        let mut parameters = rcgen::CertificateParams::new(vec!["a.test".to_owned()]).unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let now = std::time::SystemTime::now();
        let in_days = |days: u64| now + std::time::Duration::from_secs(days * 86_400 + 3_600);
        parameters.not_after = in_days(10).into();
        assert_eq!(days_left(parameters.self_signed(&key).unwrap().der()), Some(10));
        parameters.not_before = (now - std::time::Duration::from_secs(10 * 86_400)).into();
        parameters.not_after = (now - std::time::Duration::from_secs(3_600)).into();
        assert_eq!(days_left(parameters.self_signed(&key).unwrap().der()), Some(-1));
        assert_eq!(days_left(b"no certificate"), None);
    }
}
