//! Who is let in, and where those who are not are sent.

use oncewire::diagnose::{Ask, Told};
use oncewire::transport::classify::Class;
use serde_json::Value;

use super::answer::{said, short};
use super::catalog;
use super::examine::Examination;
use super::facts;

const MODERN: &str = "2026-07-28";

/// Knocks without a login, and then with the one that was given. False if the rest is closed.
pub(super) async fn examine(examination: &mut Examination<'_>) -> bool {
    examination.progress.at("auth");
    let knock = || Ask::request("server/discover", Value::Null).modern(MODERN);
    let Some(anonymous) = examination.ask(knock().anonymous()).await else { return false };
    let required = anonymous.status == Some(401);
    let has_login = examination.plan.has_login;
    let mut seen = facts::Auth {
        required,
        login: match (has_login, examination.plan.login) {
            (_, true) => "login",
            (true, false) => "given",
            (false, false) => "none",
        },
        ..facts::Auth::default()
    };
    if required {
        seen.refusal = Some(short(&anonymous));
        authorities(examination, &anonymous, &mut seen).await;
    } else if has_login && anonymous.result.is_some() {
        examination.find(&catalog::NOT_NEEDED, said(&anonymous));
    }
    let mut goes_on = true;
    if required && !has_login && !examination.plan.login {
        examination.find(&catalog::LOGIN_WANTED, said(&anonymous));
        goes_on = false;
    }
    if goes_on && examination.plan.login {
        goes_on = renewal(examination, &mut seen).await;
    }
    if goes_on
        && (has_login || examination.plan.login)
        && let Some(told) = examination.ask(knock()).await
        && told.conclusion.class == Class::Unauthorized
    {
        examination.find(&catalog::LOGIN_REFUSED, said(&told));
        goes_on = false;
    }
    examination.facts.auth = Some(seen);
    goes_on
}

/// The challenge, and the documents behind it.
async fn authorities(examination: &mut Examination<'_>, refused: &Told, seen: &mut facts::Auth) {
    if !refused.headers.contains_key("www-authenticate") {
        examination.find(&catalog::NO_CHALLENGE, said(refused));
    }
    let found = match examination.prober.authorities(refused).await {
        Ok(found) => found,
        Err(error) => return examination.find(&catalog::METADATA_FAULT, error.to_string()),
    };
    (seen.challenge, seen.own_metadata) = (found.challenged, found.own);
    if found.challenged && !found.own {
        let detail = match &found.metadata {
            Some(metadata) => format!("it names {metadata}"),
            None => "it names none".to_owned(),
        };
        examination.find(&catalog::FOREIGN_METADATA, detail);
    }
    (seen.scope, seen.resource) = (found.scope.clone(), found.resource.clone());
    if let Some(fault) = &found.fault {
        return examination.find(&catalog::METADATA_FAULT, fault.clone());
    }
    if found.assumed {
        return examination.find(&catalog::NO_METADATA, "none was found at the well-known places");
    }
    seen.issuer = Some(found.issuer.clone());
    seen.offers = [
        ("pkce_s256", found.s256),
        ("registration", found.registration),
        ("client_id_metadata", found.client_id_metadata),
        ("issuer_in_redirect", found.tells_issuer),
        ("offline_access", found.offline_access),
        ("revocation", found.revocation),
        ("dpop", found.dpop),
    ]
    .into();
    let of = format!("the metadata of {}", found.issuer);
    if !found.s256 {
        examination.find(&catalog::NO_S256, of.clone());
    }
    if !found.registration && !found.client_id_metadata {
        examination.find(&catalog::NO_REGISTRATION, of.clone());
    }
    if !found.tells_issuer {
        examination.find(&catalog::NO_ISSUER, of.clone());
    }
    if !found.offline_access {
        examination.find(&catalog::NO_OFFLINE, of);
    }
}

/// Logs in, and refreshes. False if there is no login.
async fn renewal(examination: &mut Examination<'_>, seen: &mut facts::Auth) -> bool {
    match examination.prober.renewal().await {
        Err(error) => {
            examination.find(&catalog::LOGIN_REFUSED, error.to_string());
            false
        }
        Ok(None) => true,
        Ok(Some(renewal)) => {
            seen.token_seconds_left = renewal.expires_in.map(|left| left.as_secs());
            seen.refreshes = renewal.renewable.then_some(renewal.failure.is_none());
            if let Some(failure) = renewal.failure {
                examination.find(&catalog::REFRESH_FAILED, failure);
            } else if !renewal.renewable {
                examination.find(&catalog::NO_REFRESH, "the login has none");
            }
            true
        }
    }
}
