//! The HTTP client of providers: one per reach, with DNS results checked by the policy; no redirects, proxies
//! or cookies; a 3 s connect timeout and bounded answers. Errors are classified and never quoted.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, redirect};
use serde::Serialize;
use url::Url;

use super::endpoint::Reach;
use super::endpoint::{ApiKey, Endpoint, EndpointUrl};
use super::error::{NotEmbeddings, ProviderError, Unreachable};
use super::policy::{CheckedNames, NameLookup, NoSuchName, OutOfReach};
use super::{CONNECT_TIMEOUT, MAX_DIMENSIONS, retry_after};
use crate::clock::SharedClock;

/// Limits of an answer: bytes per number of a vector,
const NUMBER_BYTES_MAX: usize = 24;
/// bytes around the vectors, or of a refusal,
pub(super) const AROUND_BYTES_MAX: usize = 64 << 10;
/// and bytes of a list of models.
const LIST_BYTES_MAX: usize = 2 << 20;
/// Idle connections are kept this long: a rebuild calls again within seconds.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

pub(super) struct Http {
    public: Client,
    private: Client,
    /// Whether this machine has CA certificates.
    can_check_tls: bool,
    clock: SharedClock,
}

/// The part of an endpoint that a call needs.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) url: &'a EndpointUrl,
    pub(super) key: Option<&'a ApiKey>,
    pub(super) reach: Reach,
    /// Larger answers are refused.
    pub(super) answer_bytes_max: usize,
}

impl<'a> Target<'a> {
    /// For the vectors of `count` texts.
    pub(super) fn of_texts(endpoint: &'a Endpoint, count: usize) -> Self {
        let width = endpoint.dimensions.map_or(MAX_DIMENSIONS, usize::from);
        let vectors_bytes = count.saturating_mul(width * NUMBER_BYTES_MAX);
        Self {
            answer_bytes_max: vectors_bytes.saturating_add(AROUND_BYTES_MAX),
            ..Self::of_list(endpoint)
        }
    }

    /// For the list of served models.
    pub(super) fn of_list(endpoint: &'a Endpoint) -> Self {
        Self {
            url: &endpoint.url,
            key: endpoint.key.as_ref(),
            reach: endpoint.reach,
            answer_bytes_max: LIST_BYTES_MAX,
        }
    }
}

/// A complete answer.
pub(super) struct HttpAnswer {
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    pub(super) is_html: bool,
    pub(super) body: Vec<u8>,
}

impl Http {
    pub(super) fn new(names: &Arc<dyn NameLookup>, clock: SharedClock) -> Self {
        // An error means that a provider is already installed, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (public, can_check_tls) = client(names.clone(), Reach::Public);
        let (private, _) = client(names.clone(), Reach::Private);
        Self { public, private, can_check_tls, clock }
    }

    pub(super) async fn post(
        &self,
        target: Target<'_>,
        url: Url,
        body: &impl Serialize,
    ) -> Result<HttpAnswer, ProviderError> {
        let request = self.client(target.reach).post(url).json(body);
        self.send(target, request).await
    }

    pub(super) async fn get(
        &self,
        target: Target<'_>,
        url: Url,
    ) -> Result<HttpAnswer, ProviderError> {
        let request = self.client(target.reach).get(url);
        self.send(target, request).await
    }

    fn client(&self, reach: Reach) -> &Client {
        match reach {
            Reach::Public => &self.public,
            Reach::Private => &self.private,
        }
    }

    async fn send(
        &self,
        target: Target<'_>,
        request: RequestBuilder,
    ) -> Result<HttpAnswer, ProviderError> {
        self.check(target.url, target.reach)?;
        let request = match target.key {
            Some(key) => request.header(AUTHORIZATION, bearer(key)?),
            None => request,
        };
        let response = request.send().await.map_err(|error| told_apart(&error))?;
        self.read(response, target.answer_bytes_max).await
    }

    /// Posts `body` as it is, and returns the status and `Retry-After`. What is answered beside them is not read.
    pub(super) async fn deliver(
        &self,
        url: &EndpointUrl,
        reach: Reach,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<(u16, Option<Duration>), ProviderError> {
        self.check(url, reach)?;
        let request = self.client(reach).post(url.whole());
        let response = request.headers(headers).body(body).send().await;
        let response = response.map_err(|error| told_apart(&error))?;
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok());
        let wait = retry_after.and_then(|text| retry_after::parse(text, self.clock.now()));
        Ok((response.status().as_u16(), wait))
    }

    fn check(&self, url: &EndpointUrl, reach: Reach) -> Result<(), ProviderError> {
        let allowed = reach.check_host(url);
        allowed.map_err(|OutOfReach| ProviderError::Forbidden)?;
        match url.is_https() && !self.can_check_tls {
            true => Err(ProviderError::Refused(Unreachable::NoCertificates)),
            false => Ok(()),
        }
    }

    async fn read(
        &self,
        mut response: Response,
        bytes_max: usize,
    ) -> Result<HttpAnswer, ProviderError> {
        let too_large = ProviderError::NotEmbeddings(NotEmbeddings::TooLarge);
        if response.content_length() > Some(bytes_max as u64) {
            return Err(too_large);
        }
        let header = |name| response.headers().get(name).and_then(|v| v.to_str().ok());
        let retry_after = header(RETRY_AFTER);
        let mut answer = HttpAnswer {
            status: response.status().as_u16(),
            retry_after: retry_after.and_then(|v| retry_after::parse(v, self.clock.now())),
            is_html: header(CONTENT_TYPE).is_some_and(|v| v.starts_with("text/html")),
            body: Vec::new(),
        };
        while let Some(part) = response.chunk().await.map_err(|error| broken(&error))? {
            if answer.body.len() + part.len() > bytes_max {
                return Err(too_large);
            }
            answer.body.extend_from_slice(&part);
        }
        Ok(answer)
    }
}

/// The client for one reach, and whether it can verify certificates.
fn client(names: Arc<dyn NameLookup>, reach: Reach) -> (Client, bool) {
    let builder = || {
        Client::builder()
            .dns_resolver(Arc::new(CheckedNames::new(names.clone(), reach)))
            .no_proxy()
            .redirect(redirect::Policy::none())
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(KEEP_ALIVE)
            .user_agent(concat!("keepsake/", env!("CARGO_PKG_VERSION")))
    };
    match builder().build() {
        Ok(client) => (client, true),
        // Without CA certificates, http endpoints still work.
        Err(_) => {
            let bare = builder().tls_certs_only([]).build();
            (bare.expect("a client without certificates builds"), false)
        }
    }
}

fn bearer(key: &ApiKey) -> Result<HeaderValue, ProviderError> {
    let value = HeaderValue::from_str(&format!("Bearer {}", key.expose()));
    // A key that cannot be in a header is never valid.
    let mut value = value.map_err(|_| ProviderError::KeyRejected)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Classifies an error before the answer began.
fn told_apart(error: &reqwest::Error) -> ProviderError {
    if caused_by::<OutOfReach>(error) {
        return ProviderError::Forbidden;
    }
    if caused_by::<NoSuchName>(error) {
        return ProviderError::Refused(Unreachable::NoSuchHost);
    }
    if error.is_timeout() {
        return ProviderError::TimedOut;
    }
    if caused_by::<rustls::Error>(error) {
        return ProviderError::Refused(Unreachable::Tls);
    }
    if error.is_connect() {
        return ProviderError::Refused(Unreachable::NoConnection);
    }
    ProviderError::Refused(Unreachable::HungUp)
}

/// Classifies an error during the answer.
fn broken(error: &reqwest::Error) -> ProviderError {
    if error.is_timeout() {
        return ProviderError::TimedOut;
    }
    ProviderError::NotEmbeddings(NotEmbeddings::HalfABody)
}

fn caused_by<E: std::error::Error + 'static>(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.is::<E>() {
            return true;
        }
        // `source` skips the error inside an `io::Error`.
        let io = error.downcast_ref::<std::io::Error>();
        if io.and_then(|io| io.get_ref()).is_some_and(|e| e.is::<E>()) {
            return true;
        }
        cause = error.source();
    }
    false
}
