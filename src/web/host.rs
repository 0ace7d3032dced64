//! Checks the host name that a page is requested under. With DNS rebinding, an attacker's page can resolve
//! its own name to this machine and share our origin; on a fresh local server it could create the first
//! admin. So only names that the owner has configured are served.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use super::AppState;
use super::error::Problem;

/// Refuses pages and forms under any name but the public URL's and loopback names. IP addresses cannot be
/// rebound, and a request without a host does not come from a browser.
pub async fn check(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let named = match request.headers().get(header::HOST) {
        Some(host) => host.to_str().ok(),
        // HTTP/2 has the host in the URI.
        None => Some(request.uri().host().unwrap_or_default()),
    };
    let public = state.public_url.host();
    if named.is_some_and(|named| is_ours(named, public)) {
        return Ok(next.run(request).await);
    }
    let server = state.public_url.as_str();
    Err(Problem::new(
        StatusCode::MISDIRECTED_REQUEST,
        "wrong_host",
        format!(
            "The pages do not answer to the name in `Host`; open {server}, or set KEEPSAKE_PUBLIC_URL to the address you use."
        ),
    ))
}

fn is_ours(named: &str, public: &str) -> bool {
    let name = name_of(named);
    name.is_empty()
        || name.eq_ignore_ascii_case(name_of(public))
        || name.eq_ignore_ascii_case("localhost")
        || name.to_ascii_lowercase().ends_with(".localhost")
        || name.parse::<IpAddr>().is_ok()
}

/// Removes the port, the brackets of an IPv6 address, and a trailing dot.
fn name_of(host: &str) -> &str {
    if let Some((ip, rest)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        && (rest.is_empty() || rest.starts_with(':'))
    {
        return ip;
    }
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    name.strip_suffix('.').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_name_loopback_and_addresses_are_ours_and_no_other_name_is() {
        for ours in [
            "memory.example.com",
            "Memory.Example.com.:443",
            "memory.example.com:9000",
            "localhost:3000",
            "keepsake.localhost",
            "127.0.0.1:3000",
            "192.168.1.5",
            "[::1]:3000",
            "[fd00::7]",
            "",
        ] {
            assert!(is_ours(ours, "memory.example.com:8443"), "{ours:?}");
        }
        for other in [
            "evil.example",
            "evil.example:3000",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "memory.example.com.evil.example",
            "[::1].evil.example",
            "notlocalhost",
        ] {
            assert!(!is_ours(other, "memory.example.com:8443"), "{other:?}");
        }
    }
}
