//! A call that was described and not made yet: options, then `.await`.

use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;

use super::handle::Handle;
use super::pages::Pages;
use crate::call::options::{CallExtras, CallOptions, IdempotencyKey};
use crate::call::run::run;
use crate::call::spec::Spec;
use crate::protocol::results::{FromRaw, ListResult, Listed};
use crate::rpc::params::Params;
use crate::session::restorable::Kept;
use crate::vocabulary::clock::CallClock;
use crate::vocabulary::config::{OptionError, Resend};
use crate::vocabulary::error::Error;
use crate::vocabulary::handler::{HandlerError, Progress};
use crate::vocabulary::method::Method;

type Begun = Arc<dyn Fn() + Send + Sync>;
type Keep = Arc<dyn Fn() -> Kept + Send + Sync>;

/// One call. Nothing is sent until it is awaited; dropping the future cancels the call.
#[must_use = "a call does nothing until it is awaited"]
pub struct Call<T> {
    handle: Handle,
    method: Method,
    name: Option<String>,
    params: Result<Params, OptionError>,
    options: CallOptions,
    extras: CallExtras,
    begun: Option<Begun>,
    keep: Option<Keep>,
    result: PhantomData<fn() -> T>,
}

impl<T> std::fmt::Debug for Call<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Call").field("method", &self.method).field("name", &self.name).finish_non_exhaustive()
    }
}

impl<T> Call<T> {
    pub(super) fn new(
        handle: Handle,
        method: Method,
        name: Option<String>,
        params: Result<Params, OptionError>,
        options: CallOptions,
        extras: CallExtras,
    ) -> Self {
        Self { handle, method, name, params, options, extras, begun: None, keep: None, result: PhantomData }
    }

    /// Called once before anything is sent.
    pub(crate) fn first(mut self, begun: impl Fn() + Send + Sync + 'static) -> Self {
        self.begun = Some(Arc::new(begun));
        self
    }

    /// Called once before anything is sent; what it keeps is taken back unless the call is answered with a result.
    pub(crate) fn keeping(mut self, keep: impl Fn() -> Kept + Send + Sync + 'static) -> Self {
        self.keep = Some(Arc::new(keep));
        self
    }

    /// The whole call: queueing, recovery, refresh, all pages.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// No byte of an answer for that long ends the attempt.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.options.idle_timeout = Some(timeout);
        self
    }

    /// Progress starts `timeout` anew.
    pub fn reset_on_progress(mut self, reset: bool) -> Self {
        self.options.reset_on_progress = Some(reset);
        self
    }

    /// The cap that progress cannot move.
    pub fn max_total_timeout(mut self, timeout: Duration) -> Self {
        self.options.max_total_timeout = Some(timeout);
        self
    }

    /// The caller's word on sending this call again after an ambiguous loss.
    pub fn resend(mut self, resend: Resend) -> Self {
        self.options.resend = Some(resend);
        self
    }

    /// All that is set in these options.
    pub fn options(mut self, options: &CallOptions) -> Self {
        self.options = options.or(&self.options);
        self
    }

    /// The key under which the server sees all attempts of this call, for example a tool-use id. Only tool calls carry one.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.extras.key = IdempotencyKey::Given(key.into());
        self
    }

    /// No idempotency key for this call.
    pub fn without_idempotency_key(mut self) -> Self {
        self.extras.key = IdempotencyKey::Off;
        self
    }

    /// Called for each progress notification of this call, in order and before the result; it must not block.
    pub fn on_progress(mut self, handler: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.extras.hooks.on_progress = Some(Arc::new(handler));
        self
    }

    /// Answers what the server asks while it carries out this call (sampling, elicitation, roots), in the place of the client's handlers:
    /// gets method and params, gives the result. For hosts that have to know for whom a question is. What the client has no handler for is
    /// not declared to the server, and is not answered here either.
    pub fn on_request<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(String, Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, HandlerError>> + Send + 'static,
    {
        self.extras.hooks.on_request = Some(Arc::new(move |method, params| Box::pin(handler(method, params))));
        self
    }

    /// One more member of `_meta`, for example `traceparent`; the same in all attempts.
    pub fn meta(mut self, key: impl Into<String>, value: Value) -> Self {
        self.extras.meta.push((key.into(), value));
        self
    }

    /// One more member of the params, exact, for example the `context` of `complete`; it takes the place of one of that name.
    pub fn param(mut self, name: &str, value: Box<RawValue>) -> Self {
        self.params = self.params.and_then(|mut params| params.set_checked(name, value).map(|()| params));
        self
    }

    fn spec(&self) -> Result<Spec, Error> {
        let checked = || {
            self.options.validate()?;
            if let IdempotencyKey::Given(key) = &self.extras.key
                && key.is_empty()
            {
                return Err(OptionError::new("idempotency_key", "it must not be empty"));
            }
            self.params.clone()
        };
        let params = checked().map_err(|error| Error::config(&self.method, self.name.as_deref(), error))?;
        Ok(Spec {
            method: self.method.clone(),
            name: self.name.clone(),
            params,
            options: self.options.clone(),
            extras: self.extras.clone(),
            page: None,
        })
    }
}

impl<T: FromRaw> IntoFuture for Call<T> {
    type Output = Result<T, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let spec = self.spec()?;
            if let Some(begun) = &self.begun {
                begun();
            }
            let kept = self.keep.as_ref().map(|keep| keep());
            let clock = Arc::new(CallClock::start(spec.options.timeouts()));
            let answered = run(Arc::clone(self.handle.engine()), spec, clock).await?;
            if let Some(kept) = kept {
                kept.granted();
            }
            Ok(T::from_raw(answered.raw))
        })
    }
}

/// A list that was described and not asked for yet: all its pages, or one.
#[must_use = "a call does nothing until it is awaited"]
#[derive(Debug)]
pub struct ListCall<T> {
    call: Call<T>,
    cursor: Option<String>,
}

impl<T> ListCall<T> {
    pub(crate) fn new(call: Call<T>) -> Self {
        Self { call, cursor: None }
    }

    /// Only the page that begins here.
    pub fn cursor(mut self, cursor: impl Into<String>) -> Self {
        self.cursor = Some(cursor.into());
        self
    }

    /// All pages together.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.call = self.call.timeout(timeout);
        self
    }

    /// All that is set in these options.
    pub fn options(mut self, options: &CallOptions) -> Self {
        self.call = self.call.options(options);
        self
    }

    /// Called for each progress notification of each page.
    pub fn on_progress(mut self, handler: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.call = self.call.on_progress(handler);
        self
    }

    /// One more member of the params of each page, exact.
    pub fn param(mut self, name: &str, value: Box<RawValue>) -> Self {
        self.call = self.call.param(name, value);
        self
    }
}

impl<T: Listed> IntoFuture for ListCall<T> {
    type Output = Result<ListResult<T>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let spec = self.call.spec()?;
            // One clock for all pages.
            let clock = Arc::new(CallClock::start(spec.options.timeouts()));
            let mut pages = Pages::new(self.call.handle.engine(), spec, clock);
            match self.cursor {
                Some(cursor) => pages.one(&cursor).await,
                None => pages.all().await,
            }
        })
    }
}
