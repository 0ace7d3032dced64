//! The client's network address: the peer of the connection, or the forwarded address if the peer is a proxy
//! that the admin has named. Forwarded headers of anybody else are ignored.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::HeaderMap;
use axum::http::request::Parts;

use super::AppState;
use crate::config::TrustedProxies;

const FORWARDED_FOR: &str = "x-forwarded-for";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

impl FromRequestParts<AppState> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Infallible> {
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0.ip());
        Ok(Self(client(peer, &parts.headers, &state.trusted_proxies)))
    }
}

/// Each proxy appends the address that called it. Read from the end, the first address that is not a trusted
/// proxy is the client's; anything before it may be forged.
fn client(peer: IpAddr, headers: &HeaderMap, proxies: &TrustedProxies) -> IpAddr {
    let mut known = peer.to_canonical();
    let lines = headers.get_all(FORWARDED_FOR).iter();
    let said: Vec<&str> = lines.flat_map(|line| line.to_str().unwrap_or("?").split(',')).collect();
    for hop in said.into_iter().rev() {
        if !proxies.contains(known) {
            break;
        }
        match parse_hop(hop.trim()) {
            Some(ip) => known = ip.to_canonical(),
            None => break,
        }
    }
    known
}

/// `192.0.2.7`, `192.0.2.7:4711`, `2001:db8::1` or `[2001:db8::1]:4711`.
fn parse_hop(hop: &str) -> Option<IpAddr> {
    hop.parse()
        .ok()
        .or_else(|| hop.parse::<SocketAddr>().ok().map(|a| a.ip()))
        .or_else(|| hop.strip_prefix('[')?.strip_suffix(']')?.parse().ok())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn client_of(peer: &str, forwarded: &[&'static str], proxies: &str) -> String {
        let proxies = TrustedProxies::parse(Some(proxies.to_owned())).expect("proxies");
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append(FORWARDED_FOR, HeaderValue::from_static(line));
        }
        let peer = peer.parse().expect("an address");
        client(peer, &headers, &proxies).to_string()
    }

    #[test]
    fn only_a_trusted_proxy_is_believed_and_only_about_its_own_peer() {
        const PROXIES: &str = "127.0.0.1, 10.0.0.0/8,2001:db8:f::/48";
        for (peer, forwarded, expected) in [
            ("127.0.0.1", &["203.0.113.9"][..], "203.0.113.9"),
            // The peer is not a trusted proxy.
            ("198.51.100.1", &["203.0.113.9"], "198.51.100.1"),
            // Entries to the left may be forged by the client.
            ("127.0.0.1", &["1.1.1.1, 203.0.113.9"], "203.0.113.9"),
            ("127.0.0.1", &["1.1.1.1", "203.0.113.9, 10.1.2.3"], "203.0.113.9"),
            ("127.0.0.1", &["127.0.0.1, 203.0.113.9, 10.1.2.3"], "203.0.113.9"),
            // Only proxies: the farthest one.
            ("127.0.0.1", &["10.0.0.1, 10.0.0.2"], "10.0.0.1"),
            ("127.0.0.1", &[], "127.0.0.1"),
            ("127.0.0.1", &["203.0.113.9:4711"], "203.0.113.9"),
            ("127.0.0.1", &["[2001:db8::7]:4711"], "2001:db8::7"),
            ("2001:db8:f::1", &["2001:db8::7"], "2001:db8::7"),
            ("::ffff:10.0.0.1", &["::ffff:203.0.113.9"], "203.0.113.9"),
            // An invalid entry is not skipped: what is left of it is unknown.
            ("127.0.0.1", &["203.0.113.9, unknown"], "127.0.0.1"),
            ("127.0.0.1", &["203.0.113.9, , 10.0.0.1"], "10.0.0.1"),
        ] {
            let found = client_of(peer, forwarded, PROXIES);
            assert_eq!(found, expected, "{peer} {forwarded:?}");
        }
        assert_eq!(client_of("127.0.0.1", &["203.0.113.9"], ""), "127.0.0.1");
    }
}
