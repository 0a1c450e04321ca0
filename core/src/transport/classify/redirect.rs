//! Where a redirect leads, and whether it is followed.
//!
//! Only 307 and 308 keep method and body (RFC 9110, sections 15.4.8 and 15.4.9), and only the same origin may see our headers: the
//! session id, the token. Whatever else the method: a client that turns a POST into a GET hides what became of the POST.

use http::{HeaderMap, StatusCode};
use url::Url;

use super::conclusions::Redirect;
use crate::transport::headers;

/// Where the answer to a request for `url` redirects it.
#[must_use]
pub fn redirect(status: StatusCode, headers: &HeaderMap, url: &Url) -> Redirect {
    if !status.is_redirection() {
        return Redirect::None;
    }
    let Some(target) = target(headers, url) else { return Redirect::None };
    let keeps_the_request = matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    // Another scheme of the same host is another origin too (RFC 6454, section 4); opaque origins are equal to none.
    let same_origin = target.origin() == url.origin();
    if keeps_the_request && same_origin && (!has_credentials(&target) || same_credentials(&target, url)) {
        match with_credentials_of(target, url) {
            Ok(target) => Redirect::Follow(target),
            Err(target) => Redirect::Refuse(target),
        }
    } else {
        Redirect::Refuse(without_credentials(target))
    }
}

/// The target, resolved against the URL of the request (RFC 9110, section 10.2.2). A fragment is nothing that is sent.
fn target(headers: &HeaderMap, url: &Url) -> Option<Url> {
    let mut target = url.join(headers::location(headers)?).ok()?;
    target.set_fragment(None);
    target.has_host().then_some(target)
}

fn has_credentials(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

fn same_credentials(left: &Url, right: &Url) -> bool {
    left.username() == right.username() && left.password() == right.password()
}

/// The same origin gets the same credentials; a server that redirects to an absolute URL leaves them out.
fn with_credentials_of(mut target: Url, url: &Url) -> Result<Url, Url> {
    let done = target.set_username(url.username()).and_then(|()| target.set_password(url.password()));
    match done {
        Ok(()) => Ok(target),
        Err(()) => Err(target),
    }
}

fn without_credentials(mut target: Url) -> Url {
    // Both fail only for a URL that cannot have credentials.
    let _ = target.set_username("");
    let _ = target.set_password(None);
    target
}
