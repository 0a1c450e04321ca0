//! Who gives tokens for a server, as the client finds out.

use std::time::{Duration, SystemTime};

use super::prober::Prober;
use super::told::Told;
use crate::oauth::discover;
use crate::transport::challenge::{asked, own_challenge};

/// What a refusal for want of a login says, and what the metadata behind it does.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Authorities {
    /// There is a challenge of OAuth.
    pub challenged: bool,
    /// It names the metadata of this very resource.
    pub own: bool,
    /// Where it says that the metadata is.
    pub metadata: Option<String>,
    /// The scopes that it wants.
    pub scope: Option<String>,
    /// Why there is no use in the metadata, as the client would tell it.
    pub fault: Option<String>,
    /// The resource, as its metadata writes it; none without such.
    pub resource: Option<String>,
    /// The scopes of the resource.
    pub scopes: Vec<String>,
    /// The issuer; empty if its endpoints are assumed.
    pub issuer: String,
    /// There is no metadata of an authorization server: its endpoints are where 2025-03-26 says.
    pub assumed: bool,
    /// PKCE with S256 is listed. A client that is not told otherwise needs that.
    pub s256: bool,
    /// Clients can register (RFC 7591).
    pub registration: bool,
    /// The URL of a document is a client id.
    pub client_id_metadata: bool,
    /// The redirect bears the issuer (RFC 9207).
    pub tells_issuer: bool,
    /// `offline_access` is among the scopes of the authorization server.
    pub offline_access: bool,
    /// Where tokens are revoked.
    pub revocation: bool,
    /// Tokens can be bound to a key (RFC 9449).
    pub dpop: bool,
}

/// How the login that is there can be renewed.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Renewal {
    /// For how long the token is good yet; none where nothing says so.
    pub expires_in: Option<Duration>,
    /// There is a refresh token.
    pub renewable: bool,
    /// What a refresh came to: none if it brought a token, else why not.
    pub failure: Option<String>,
}

impl Prober {
    /// What the challenge of this answer says, and who gives tokens. Asks for metadata, and for nothing else.
    ///
    /// # Errors
    /// What cannot be used of the options.
    pub async fn authorities(&self, refused: &Told) -> Result<Authorities, crate::OptionError> {
        let url = self.url();
        let asked = asked(&refused.headers);
        let mut found = Authorities {
            challenged: asked.is_some(),
            own: own_challenge(&refused.headers, url).is_some(),
            ..Authorities::default()
        };
        let asked = asked.unwrap_or_default();
        let fetch = self.fetch()?;
        match discover(&fetch, url, asked.metadata.as_deref(), &[]).await {
            Err(fault) => found.fault = Some(self.redacted(&fault.to_string())),
            Ok(metadata) => {
                let server = metadata.server;
                found.resource = metadata.resource;
                found.scopes = metadata.scopes_supported;
                found.assumed = metadata.assumed;
                found.s256 = server.code_challenge_methods_supported.iter().any(|method| method == "S256");
                found.registration = server.registration_endpoint.is_some();
                found.client_id_metadata = server.client_id_metadata_document_supported;
                found.tells_issuer = server.authorization_response_iss_parameter_supported;
                found.offline_access = server.scopes_supported.iter().any(|scope| scope == "offline_access");
                found.revocation = server.revocation_endpoint.is_some();
                found.dpop = !server.dpop_signing_alg_values_supported.is_empty();
                found.issuer = server.issuer;
            }
        }
        (found.metadata, found.scope) = (asked.metadata, asked.scope);
        Ok(found)
    }

    /// Logs in if need be, and then refreshes the token. None without a login.
    ///
    /// # Errors
    /// The login failed.
    pub async fn renewal(&self) -> Result<Option<Renewal>, crate::Error> {
        let tokens = &self.wire().tokens;
        if tokens.login().is_none() {
            return Ok(None);
        }
        self.client().login().await?;
        let Ok(Some(token)) = tokens.get().await else { return Ok(Some(Renewal::default())) };
        let expires_in = token.expires.and_then(|expires| expires.duration_since(SystemTime::now()).ok());
        let renewable = token.renewable_from.is_some();
        let failure = match renewable {
            false => None,
            true => tokens.refresh(token.serial).await.err().map(|error| self.redacted(&error.to_string())),
        };
        Ok(Some(Renewal { expires_in, renewable, failure }))
    }
}
