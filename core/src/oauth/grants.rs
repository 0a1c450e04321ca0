//! Grants that need no person: the client for itself, an assertion of the platform, the login of an enterprise. There is nothing to refresh:
//! a token that is over is asked for anew.

use super::authorize;
use super::classify::TokenAnswer;
use super::discovery::Found;
use super::error::LoginError;
use super::fetch::PATIENCE;
use super::log_in::origin_of;
use super::login::{Access, Login};
use super::options::{Assertion, Enterprise, Grant};
use super::record::{Origin, Record, Registration};
use super::registration::registered_beforehand;
use super::token_request::Asker;
use crate::transport::challenge::Asked;
use crate::vocabulary::event::EventName;

/// RFC 7523, section 2.1.
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// RFC 8693, section 2.1.
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
/// The Identity Assertion JWT Authorization Grant.
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

impl Login {
    /// A token by the grant of the options; the lock is held.
    pub(super) async fn acquire(&self, record: &mut Record, asked: &Asked) -> Result<Access, LoginError> {
        let found = self.find(record, asked).await?;
        let client = registered_beforehand(&self.oauth, record, &found.server.issuer)?;
        let origin = origin_of(&found)?;
        let scopes: Vec<String> = authorize::scopes(self.oauth.scopes.as_deref(), asked.scope.as_deref(), &found, &[])
            .into_iter()
            // There is no one who could be away.
            .filter(|scope| scope != authorize::OFFLINE)
            .collect();
        let scope = scopes.join(" ");
        let mut parameters = Vec::new();
        let assertion;
        // An assertion of the platform says by itself who the client is.
        let mut shown = client.as_ref();
        match &self.oauth.grant {
            Grant::AuthorizationCode => return Err(LoginError::lasting("this grant needs a person")),
            Grant::ClientCredentials => parameters.push(("grant_type", "client_credentials")),
            Grant::Workload { assertion: given } => {
                assertion = self.assertion("workload_identity", given).await?;
                parameters.extend([("grant_type", JWT_BEARER), ("assertion", assertion.as_str())]);
                if self.oauth.client_secret.is_none() && self.signing_key.is_none() {
                    shown = None;
                }
            }
            Grant::Enterprise(enterprise) => {
                assertion = self.exchange(enterprise, &found, &scope).await?;
                parameters.extend([("grant_type", JWT_BEARER), ("assertion", assertion.as_str())]);
            }
        }
        if !scope.is_empty() {
            parameters.push(("scope", scope.as_str()));
        }
        let redeemed = self.redeem(record, origin, shown, &parameters, &scopes).await;
        redeemed.map_err(|(error, _)| {
            self.tell(EventName::LoginLost, Some(error.to_string()));
            error
        })
    }

    async fn assertion(&self, what: &str, given: &Assertion) -> Result<String, LoginError> {
        let given = tokio::time::timeout(PATIENCE, Self::of_host(what, given())).await;
        let given = given
            .map_err(|_| LoginError::passing(format!("{what} gave nothing within {} s", PATIENCE.as_secs())))??;
        self.secret(&given);
        Ok(given)
    }

    /// Exchanges the ID token for an assertion to the authorization server (enterprise-managed authorization, RFC 8693).
    async fn exchange(&self, enterprise: &Enterprise, found: &Found, scope: &str) -> Result<String, LoginError> {
        let id_token = self.assertion("id_token", &enterprise.id_token).await?;
        let origin = Origin { token_endpoint: enterprise.token_endpoint.clone(), ..Origin::default() };
        let client = Registration {
            client_id: enterprise.client_id.clone(),
            client_secret: enterprise.client_secret.clone(),
            // The identity provider's own metadata is not asked: the host knows it.
            auth_method: Some(
                if enterprise.client_secret.is_some() { "client_secret_post" } else { "none" }.to_owned(),
            ),
            redirect_uri: None,
            secret_expires_at: None,
        };
        let resource = found.resource.as_deref().unwrap_or(self.server.as_str());
        let mut parameters = vec![
            ("grant_type", EXCHANGE),
            ("requested_token_type", ID_JAG),
            ("subject_token", id_token.as_str()),
            ("subject_token_type", ID_TOKEN),
            ("audience", found.server.issuer.as_str()),
            ("resource", resource),
        ];
        if !scope.is_empty() {
            parameters.push(("scope", scope));
        }
        let asker = Asker { fetch: &self.fetch, origin: &origin, client: Some(&client), key: None, prover: None };
        let refused = |reason: String| format!("the identity provider gave no assertion: {reason}");
        match asker.ask(&parameters).await? {
            TokenAnswer::Granted(granted) if granted.issued_token_type.as_deref().is_none_or(|kind| kind == ID_JAG) => {
                self.secret(&granted.access_token);
                Ok(granted.access_token.clone())
            }
            TokenAnswer::Granted(_) => Err(LoginError::lasting(refused("it gave a token of another type".to_owned()))),
            TokenAnswer::NotNow { reason, .. } | TokenAnswer::NeverSent(reason) | TokenAnswer::Lost(reason) => {
                Err(LoginError::passing(refused(reason)))
            }
            TokenAnswer::DeadGrant(reason) | TokenAnswer::DeadClient(reason) | TokenAnswer::Refused(reason) => {
                Err(LoginError::lasting(refused(reason)))
            }
            TokenAnswer::Nonce => Err(LoginError::lasting(refused("it wants a nonce".to_owned()))),
        }
    }
}
