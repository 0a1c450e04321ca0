//! One request to a token endpoint, with the client shown in the way that the server takes.

use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::classify::{self, TokenAnswer};
use super::error::LoginError;
use super::fetch::Fetch;
use super::jwt::{ASSERTION_TYPE, ClientAssertion, SigningKey};
use super::proof::Prover;
use super::record::{Origin, Registration};

/// The content type of every token request (RFC 6749, appendix B).
const FORM: &str = "application/x-www-form-urlencoded";

/// How the client shows who it is (RFC 6749, section 2.3; OpenID Connect Core, section 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    None,
    Basic,
    Post,
    PrivateKey,
}

/// The method to use. A secret that was handed out is no reason to send it: some servers give one, and take none.
fn method(client: &Registration, supported: Option<&[String]>, has_key: bool) -> Method {
    let of = |name: &str| match name {
        "none" => Some(Method::None),
        "client_secret_basic" => Some(Method::Basic),
        "client_secret_post" => Some(Method::Post),
        _ => None,
    };
    if has_key {
        return Method::PrivateKey;
    }
    if client.client_secret.is_none() {
        return Method::None;
    }
    if let Some(method) = client.auth_method.as_deref().and_then(of) {
        return method;
    }
    let offers = |method: Method| supported.unwrap_or_default().iter().any(|name| of(name) == Some(method));
    [Method::Basic, Method::Post, Method::None]
        .into_iter()
        .find(|method| offers(*method))
        // RFC 8414, section 2: what holds if the metadata does not say.
        .unwrap_or(Method::Basic)
}

/// Who asks, and where.
pub(crate) struct Asker<'a> {
    pub(crate) fetch: &'a Fetch,
    pub(crate) origin: &'a Origin,
    /// `None` if the grant itself says who the client is.
    pub(crate) client: Option<&'a Registration>,
    pub(crate) key: Option<&'a SigningKey>,
    /// Tokens are to be bound to its key.
    pub(crate) prover: Option<&'a Prover>,
}

impl Asker<'_> {
    /// Asks once, and once more if a nonce is wanted: the server has then looked at nothing else.
    ///
    /// # Errors
    /// The request cannot be made.
    pub(crate) async fn ask(&self, parameters: &[(&str, &str)]) -> Result<TokenAnswer, LoginError> {
        let endpoint = Url::parse(&self.origin.token_endpoint)
            .map_err(|_| LoginError::lasting("the token endpoint of the authorization server is not a URL"))?;
        let answer = self.once(&endpoint, parameters).await?;
        if let TokenAnswer::Nonce = answer {
            return match self.once(&endpoint, parameters).await? {
                TokenAnswer::Nonce => Ok(TokenAnswer::Refused("the nonce that it gave is refused".to_owned())),
                answer => Ok(answer),
            };
        }
        Ok(answer)
    }

    async fn once(&self, endpoint: &Url, parameters: &[(&str, &str)]) -> Result<TokenAnswer, LoginError> {
        let mut headers = HeaderMap::new();
        let body = {
            let mut form = Serializer::new(String::new());
            form.extend_pairs(parameters);
            if let Some(client) = self.client {
                self.show(client, &mut form, &mut headers)?;
            }
            Bytes::from(form.finish())
        };
        if let Some(prover) = self.prover {
            headers.insert(super::proof::DPOP, prover.of_token_request(endpoint)?);
        }
        let fetched = self.fetch.post(endpoint, FORM, headers, body).await;
        if let (Some(prover), Ok(fetched)) = (self.prover, &fetched) {
            prover.take_nonce_of_issuer(&fetched.headers);
        }
        Ok(classify::token(fetched))
    }

    fn show(
        &self,
        client: &Registration,
        form: &mut Serializer<'_, String>,
        headers: &mut HeaderMap,
    ) -> Result<(), LoginError> {
        let id = &client.client_id;
        let secret = client.client_secret.as_deref().unwrap_or_default();
        match (method(client, self.origin.auth_methods.as_deref(), self.key.is_some()), self.key) {
            (Method::PrivateKey, Some(key)) => {
                let assertion = ClientAssertion { client_id: id, audience: &self.origin.issuer, key_id: None };
                let assertion = assertion.sign(key, SystemTime::now());
                let assertion = assertion.map_err(|error| LoginError::lasting(error.to_string()))?;
                form.append_pair("client_id", id);
                form.append_pair("client_assertion_type", ASSERTION_TYPE);
                form.append_pair("client_assertion", &assertion);
            }
            (Method::None | Method::PrivateKey, _) => {
                form.append_pair("client_id", id);
            }
            (Method::Post, _) => {
                form.append_pair("client_id", id);
                form.append_pair("client_secret", secret);
            }
            (Method::Basic, _) => {
                headers.insert(AUTHORIZATION, basic(id, secret)?);
            }
        }
        Ok(())
    }
}

/// Both parts are written as in a form before they are joined (RFC 6749, section 2.3.1).
fn basic(id: &str, secret: &str) -> Result<HeaderValue, LoginError> {
    let part = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let joined = STANDARD.encode(format!("{}:{}", part(id), part(secret)));
    let mut value = HeaderValue::try_from(format!("Basic {joined}"))
        .map_err(|_| LoginError::lasting("client_id and client_secret cannot be sent"))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn client(secret: Option<&str>, auth_method: Option<&str>) -> Registration {
        Registration {
            client_id: "c".into(),
            client_secret: secret.map(str::to_owned),
            auth_method: auth_method.map(str::to_owned),
            redirect_uri: None,
            secret_expires_at: None,
        }
    }

    #[test_case(None, None, Some(&["client_secret_basic"]), Method::None; "without a secret there is nothing to show")]
    #[test_case(Some("s"), None, None, Method::Basic; "where nothing is said")]
    #[test_case(Some("s"), None, Some(&["none"]), Method::None; "a secret that is given and not taken")]
    #[test_case(Some("s"), None, Some(&["client_secret_post"]), Method::Post; "in the body")]
    #[test_case(Some("s"), None, Some(&["client_secret_post", "client_secret_basic"]), Method::Basic; "in the header where both are taken")]
    #[test_case(Some("s"), Some("client_secret_post"), Some(&["client_secret_basic", "client_secret_post"]), Method::Post; "as it was registered")]
    #[test_case(Some("s"), None, Some(&["tls_client_auth"]), Method::Basic; "a method that is not known")]
    fn how_a_client_shows_who_it_is(
        secret: Option<&str>,
        registered: Option<&str>,
        supported: Option<&[&str]>,
        expected: Method,
    ) {
        let supported = supported.map(|names| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(method(&client(secret, registered), supported.as_deref(), false), expected);
        assert_eq!(method(&client(secret, registered), supported.as_deref(), true), Method::PrivateKey);
    }

    #[test]
    fn both_parts_of_basic_are_written_as_in_a_form() {
        let value = basic("id:1", "a b+%ü").unwrap();
        let text = value.to_str().unwrap().strip_prefix("Basic ").unwrap();
        assert_eq!(STANDARD.decode(text).unwrap(), b"id%3A1:a+b%2B%25%C3%BC");
        assert!(value.is_sensitive());
    }
}
