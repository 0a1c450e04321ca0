//! TLS: ring, given explicitly, and the roots of the machine.
//!
//! No process-wide crypto provider is installed or asked for: a host process may have its own. The roots of the machine are
//! read at the first handshake and not before, so a client of an `http` URL works in a container that has none, and one of an
//! `https` URL there fails with a text that says what is missing.

mod trusted;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls_platform_verifier::Verifier;

use super::http::settings::{ClientIdentity, HttpVersion};
use crate::vocabulary::config::OptionError;

/// The options that TLS has.
pub(crate) struct TlsOptions<'a> {
    /// PEM, in addition to the roots of the machine.
    pub(crate) root_certificates: Option<&'a [u8]>,
    /// PEM files, and folders of such, in addition; what cannot be read or used is passed over.
    pub(crate) trusted_files: &'a [PathBuf],
    /// What the client shows to a server that asks for a certificate.
    pub(crate) identity: Option<&'a ClientIdentity>,
    /// Which versions of HTTP are offered by ALPN.
    pub(crate) http_version: HttpVersion,
}

/// The TLS configuration of a client.
///
/// # Errors
/// Names the option that is not usable PEM, never a byte of it.
pub(crate) fn client_config(options: &TlsOptions<'_>) -> Result<ClientConfig, OptionError> {
    let provider = Arc::new(ring::default_provider());
    let roots = options.root_certificates.map(extra_roots).transpose()?.unwrap_or_default();
    let verifier = LazyVerifier::new(Arc::clone(&provider), roots, options.trusted_files.to_vec());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| OptionError::new("http_version", error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match options.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let chain = certificates("client_certificate", &identity.certificate_chain_pem)?;
            let key = PrivateKeyDer::from_pem_slice(&identity.private_key_pem)
                .map_err(|error| OptionError::new("client_key", pem_problem(&error, "private key")))?;
            // The chain parses, so what is left is a key of an unknown kind or of another certificate.
            builder.with_client_auth_cert(chain, key).map_err(|error| match error {
                Error::InvalidCertificate(_) => OptionError::new("client_certificate", error.to_string()),
                error => OptionError::new("client_key", error.to_string()),
            })?
        }
    };
    config.alpn_protocols = match options.http_version {
        HttpVersion::Auto => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        HttpVersion::Http1 => vec![b"http/1.1".to_vec()],
        HttpVersion::Http2 => vec![b"h2".to_vec()],
    };
    Ok(config)
}

fn extra_roots(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, OptionError> {
    let roots = certificates("root_certificates", pem)?;
    // Whether each can be a root shows only here; later it would fail every handshake.
    let mut store = RootCertStore::empty();
    for root in &roots {
        store.add(root.clone()).map_err(|error| OptionError::new("root_certificates", error.to_string()))?;
    }
    Ok(roots)
}

fn certificates(field: &'static str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, OptionError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|error| OptionError::new(field, pem_problem(&error, "certificate")))?;
    if found.is_empty() {
        return Err(OptionError::new(field, "there is no PEM certificate in it"));
    }
    Ok(found)
}

// The errors of the PEM reader quote what they read.
fn pem_problem(error: &rustls_pki_types::pem::Error, what: &str) -> String {
    match error {
        rustls_pki_types::pem::Error::NoItemsFound => format!("there is no PEM {what} in it"),
        _ => "it is not valid PEM".to_owned(),
    }
}

type Load = dyn Fn() -> Result<Arc<dyn ServerCertVerifier>, Error> + Send + Sync;

/// The verifier of the machine, made when the first certificate comes. A failure is not kept: the next handshake looks again.
struct LazyVerifier {
    provider: Arc<CryptoProvider>,
    load: Box<Load>,
    loaded: OnceLock<Arc<dyn ServerCertVerifier>>,
}

impl LazyVerifier {
    fn new(provider: Arc<CryptoProvider>, roots: Vec<CertificateDer<'static>>, files: Vec<PathBuf>) -> Self {
        let for_load = Arc::clone(&provider);
        let load = move || {
            let roots = roots.iter().cloned().chain(trusted::read(&files));
            let verifier = Verifier::new_with_extra_roots(roots, Arc::clone(&for_load));
            verifier.map(|verifier| Arc::new(verifier) as Arc<dyn ServerCertVerifier>)
        };
        Self::with_load(provider, Box::new(load))
    }

    fn with_load(provider: Arc<CryptoProvider>, load: Box<Load>) -> Self {
        Self { provider, load, loaded: OnceLock::new() }
    }

    fn verifier(&self) -> Result<&Arc<dyn ServerCertVerifier>, Error> {
        if let Some(verifier) = self.loaded.get() {
            return Ok(verifier);
        }
        let verifier = (self.load)().map_err(|error| {
            Error::General(format!(
                "no root certificates were found on this machine, pass `root_certificates` ({error})"
            ))
        })?;
        Ok(self.loaded.get_or_init(|| verifier))
    }
}

impl fmt::Debug for LazyVerifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LazyVerifier").field("loaded", &self.loaded.get().is_some()).finish_non_exhaustive()
    }
}

impl ServerCertVerifier for LazyVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verifier()?.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    // The two below need the algorithms of the provider and no roots.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests;
