//! The end of a login (RFC 7009): the server is told, if it wants to be.

use bytes::Bytes;
use http::HeaderMap;
use url::Url;

use super::login::Login;
use super::record::Record;

impl Login {
    /// Tells the authorization server that the login is over. Nothing hangs on it: a server that does not answer lets the tokens end by
    /// themselves.
    pub(super) async fn revoke(&self, record: &Record) {
        let endpoint = record.origin.revocation_endpoint.as_deref().and_then(|endpoint| Url::parse(endpoint).ok());
        let (Some(endpoint), Some(tokens)) = (endpoint, &record.tokens) else { return };
        let client_id = match (&self.oauth.client_id, record.clients.get(&record.origin.issuer)) {
            (Some(id), _) => Some(id),
            (None, Some(client)) => Some(&client.client_id),
            (None, None) => self.oauth.client_metadata_url.as_ref(),
        };
        let body = {
            let mut form = url::form_urlencoded::Serializer::new(String::new());
            match &tokens.refresh_token {
                Some(refresh) => form.append_pair("token", refresh).append_pair("token_type_hint", "refresh_token"),
                None => form.append_pair("token", &tokens.access_token).append_pair("token_type_hint", "access_token"),
            };
            if let Some(id) = client_id {
                form.append_pair("client_id", id);
            }
            Bytes::from(form.finish())
        };
        let _ = self.fetch.post(&endpoint, "application/x-www-form-urlencoded", HeaderMap::new(), body).await;
    }
}
