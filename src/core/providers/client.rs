//! The HTTP client of providers: one per reach, with DNS results checked by the policy; no redirects, proxies
//! or cookies; a 3 s connect timeout and bounded answers. Errors are classified and never quoted.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{
    AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};
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
/// Content types of answers that come in parts.
const STREAMS: [&str; 2] = ["text/event-stream", "application/x-ndjson"];
/// How OpenAI's stream ends.
const STREAM_END: &[u8] = b"data: [DONE]";
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
    /// See [`Endpoint::header_of_key`].
    pub(super) key_header: &'a str,
    /// The API's version, where a header names it.
    pub(super) version: Option<(&'static str, &'static str)>,
    pub(super) reach: Reach,
    /// Larger answers are refused.
    pub(super) answer_bytes_max: usize,
    /// Of an answer that is a stream of events.
    pub(super) stream_bytes_max: usize,
}

impl<'a> Target<'a> {
    /// For the vectors of `count` texts.
    pub(super) fn of_texts(endpoint: &'a Endpoint, count: usize) -> Self {
        let width = endpoint.dimensions.map_or(MAX_DIMENSIONS, usize::from);
        let vectors_bytes = count.saturating_mul(width * NUMBER_BYTES_MAX);
        let answer_bytes_max = vectors_bytes.saturating_add(AROUND_BYTES_MAX);
        Self { answer_bytes_max, stream_bytes_max: answer_bytes_max, ..Self::of_list(endpoint) }
    }

    /// For the list of served models.
    pub(super) fn of_list(endpoint: &'a Endpoint) -> Self {
        Self {
            key: endpoint.key.as_ref(),
            key_header: endpoint.header_of_key(),
            ..Self::of_url(&endpoint.url, endpoint.reach, LIST_BYTES_MAX)
        }
    }

    /// Without a key.
    pub(super) fn of_url(url: &'a EndpointUrl, reach: Reach, answer_bytes_max: usize) -> Self {
        Self {
            url,
            key: None,
            key_header: "",
            version: None,
            reach,
            answer_bytes_max,
            stream_bytes_max: answer_bytes_max,
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
            Some(key) => {
                let (name, value) = key_header(target.key_header, key)?;
                request.header(name, value)
            }
            None => request,
        };
        let request = match target.version {
            Some((name, version)) => request.header(name, version),
            None => request,
        };
        let response = request.send().await.map_err(|error| told_apart(&error))?;
        self.read(response, target).await
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
        let request = self.client(reach).post(url.to_url());
        let response = request.headers(headers).body(body).send().await;
        let response = response.map_err(|error| told_apart(&error))?;
        Ok((response.status().as_u16(), self.retry_after(&response)))
    }

    fn retry_after(&self, response: &Response) -> Option<Duration> {
        let header = response.headers().get(RETRY_AFTER)?;
        retry_after::parse(header.to_str().ok()?, self.clock.now())
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
        target: Target<'_>,
    ) -> Result<HttpAnswer, ProviderError> {
        let content_type = response.headers().get(CONTENT_TYPE);
        let content_type = content_type.and_then(|v| v.to_str().ok()).unwrap_or_default();
        let is_html = content_type.starts_with("text/html");
        let is_stream = STREAMS.iter().any(|stream| content_type.starts_with(stream));
        let bytes_max = match is_stream {
            true => target.stream_bytes_max,
            false => target.answer_bytes_max,
        };
        let too_large = ProviderError::NotEmbeddings(NotEmbeddings::TooLarge);
        if response.content_length() > Some(bytes_max as u64) {
            return Err(too_large);
        }
        let mut answer = HttpAnswer {
            status: response.status().as_u16(),
            retry_after: self.retry_after(&response),
            is_html,
            body: Vec::new(),
        };
        while let Some(part) = response.chunk().await.map_err(|error| broken(&error))? {
            if answer.body.len() + part.len() > bytes_max {
                return Err(too_large);
            }
            answer.body.extend_from_slice(&part);
            // A server may leave the connection open after the end of a stream.
            if is_stream && answer.body.trim_ascii_end().ends_with(STREAM_END) {
                break;
            }
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

/// The header that carries the key: `Authorization: Bearer`, or the named one with the key as it is.
fn key_header(name: &str, key: &ApiKey) -> Result<(HeaderName, HeaderValue), ProviderError> {
    let (name, value) = match name {
        "" => (AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {}", key.expose()))),
        name => {
            let name = name.parse().map_err(|_| ProviderError::KeyRejected)?;
            (name, HeaderValue::from_str(key.expose()))
        }
    };
    // A key that cannot be in a header is never valid.
    let mut value = value.map_err(|_| ProviderError::KeyRejected)?;
    value.set_sensitive(true);
    Ok((name, value))
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
