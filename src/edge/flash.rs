//! What a page tells once, after the redirect that answers a form. It waits in a cookie of the browser, sealed with the server's
//! key and bound to the person and the page, for one view within a minute. No server keeps anything of it.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use time::{Duration, OffsetDateTime};
use tower_sessions::cookie::{Cookie, SameSite};

use crate::AppState;
use crate::accounts::UserId;
use crate::seal::SecretOwner;
use crate::session::{cookie_name, cookie_path};

const NAME: &str = "keepsake-flash";
const WAITS: Duration = Duration::MINUTE;
/// Browsers keep 4,096 bytes of a cookie, its attributes included.
const VALUE_BYTES_MAX: usize = 3_800;

#[derive(Serialize, Deserialize)]
struct Flash<T> {
    /// Path and query of the page.
    address: String,
    /// In seconds since 1970.
    until: i64,
    content: T,
}

/// `None`: a stranger.
fn owner(user: Option<UserId>) -> SecretOwner {
    SecretOwner { user_id: user.map_or(0, |user| user.0), column: "cookie.flash" }
}

/// The `Set-Cookie` that carries `content` to the page at `address`; `None` where it is too long for a cookie or cannot be sealed.
pub fn send<T: Serialize>(
    state: &AppState,
    user: Option<UserId>,
    address: &str,
    content: &T,
) -> Option<HeaderValue> {
    let until = (state.clock.now() + WAITS).unix_timestamp();
    let flash = Flash { address: address.to_owned(), until, content };
    let flash = serde_json::to_string(&flash).ok()?;
    let sealed = state.embeddings.sealer().seal(owner(user), &flash).ok()?;
    let value = URL_SAFE_NO_PAD.encode(sealed);
    (value.len() <= VALUE_BYTES_MAX).then(|| cookie(state, value, WAITS))?
}

/// What waits for the page at this address: not for an island that fetches the same page at that moment. It is to be answered
/// with [`forget`].
pub fn take<T: DeserializeOwned>(
    state: &AppState,
    user: Option<UserId>,
    address: &str,
    headers: &HeaderMap,
) -> Option<T> {
    if headers.get("sec-fetch-mode").is_some_and(|mode| mode != "navigate") {
        return None;
    }
    let name = cookie_name(state, NAME);
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = cookies.flat_map(Cookie::split_parse).filter_map(Result::ok);
    let sealed = cookies.find(|cookie| cookie.name() == name)?;
    let sealed = URL_SAFE_NO_PAD.decode(sealed.value()).ok()?;
    let flash = state.embeddings.sealer().open(owner(user), &sealed).ok()?;
    let flash: Flash<T> = serde_json::from_str(&flash).ok()?;
    let is_fresh = OffsetDateTime::from_unix_timestamp(flash.until).ok()? > state.clock.now();
    (is_fresh && flash.address == address).then_some(flash.content)
}

/// The `Set-Cookie` that removes it.
pub fn forget(state: &AppState) -> Option<HeaderValue> {
    cookie(state, String::new(), Duration::ZERO)
}

fn cookie(state: &AppState, value: String, max_age: Duration) -> Option<HeaderValue> {
    let cookie = Cookie::build((cookie_name(state, NAME), value))
        .http_only(true)
        .secure(state.public_url.is_https())
        .same_site(SameSite::Lax)
        .path(cookie_path(state))
        .max_age(max_age)
        .build();
    HeaderValue::try_from(cookie.to_string()).ok()
}
