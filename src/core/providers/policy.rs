//! Which addresses a provider call may reach. A name is resolved once, and the connection goes to
//! exactly one of the addresses checked here, so that DNS rebinding between check and connection is
//! impossible.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Host;

use super::endpoint::{EndpointUrl, Reach};

/// Resolves names: the system's resolver, or a test's table.
#[async_trait]
pub trait NameLookup: Send + Sync {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's resolver.
pub struct SystemNames;

#[async_trait]
impl NameLookup for SystemNames {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|found| found.ip()).collect())
    }
}

/// All addresses of a host are out of reach.
#[derive(Debug, thiserror::Error)]
#[error("no address of this host may be called")]
pub(super) struct OutOfReach;

/// The name does not exist.
#[derive(Debug, thiserror::Error)]
#[error("there is no host of this name")]
pub(super) struct NoSuchName;

impl Reach {
    /// Whether a call may go to this address.
    pub fn admits(self, address: IpAddr) -> bool {
        match network(address) {
            Network::Public => true,
            Network::Private => self == Self::Private,
            Network::Never => false,
        }
    }

    /// Checks the host before resolution: literal addresses bypass the resolver, so they are checked here, at
    /// each call.
    pub(super) fn check_host(self, url: &EndpointUrl) -> Result<(), OutOfReach> {
        let admitted = match url.parsed_host() {
            Some(Host::Ipv4(address)) => self.admits(address.into()),
            Some(Host::Ipv6(address)) => self.admits(address.into()),
            Some(Host::Domain(name)) => self == Self::Private || !is_localhost(name),
            None => false,
        };
        if admitted { Ok(()) } else { Err(OutOfReach) }
    }
}

fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost") || name == "localhost.localdomain"
}

/// The resolver of one HTTP client: returns only addresses within its reach.
pub(super) struct CheckedNames {
    names: Arc<dyn NameLookup>,
    reach: Reach,
}

impl CheckedNames {
    pub(super) fn new(names: Arc<dyn NameLookup>, reach: Reach) -> Self {
        Self { names, reach }
    }
}

impl Resolve for CheckedNames {
    fn resolve(&self, name: Name) -> Resolving {
        let (names, reach) = (self.names.clone(), self.reach);
        Box::pin(async move {
            let found = names.addresses(name.as_str()).await;
            let found = found.map_err(|_| NoSuchName)?;
            if found.is_empty() {
                return Err(NoSuchName.into());
            }
            // Port 0: the connector uses the URL's port.
            let admitted: Vec<SocketAddr> = found
                .into_iter()
                .filter(|address| reach.admits(*address))
                .map(|address| SocketAddr::new(address, 0))
                .collect();
            if admitted.is_empty() {
                return Err(OutOfReach.into());
            }
            Ok(Box::new(admitted.into_iter()) as Addrs)
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    Public,
    Private,
    Never,
}

fn network(address: IpAddr) -> Network {
    match address {
        IpAddr::V4(v4) => network_v4(v4),
        IpAddr::V6(v6) => network_v6(v6),
    }
}

fn network_v4(address: Ipv4Addr) -> Network {
    match address.octets() {
        // Alibaba's metadata service, in the carrier-grade NAT range; Azure's, among public addresses.
        [100, 100, 100, 200] | [168, 63, 129, 16] => Network::Never,
        [10 | 127, ..] | [192, 168, ..] => Network::Private,
        [172, second, ..] if (16..32).contains(&second) => Network::Private,
        // Carrier-grade NAT, also used by overlay networks.
        [100, second, ..] if (64..128).contains(&second) => Network::Private,
        // "This network", link-local including metadata services, IETF protocols (Oracle's metadata service),
        // documentation, benchmarking, 6to4 relays, multicast, reserved and broadcast.
        [0, ..]
        | [169, 254, ..]
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [224..=255, ..] => Network::Never,
        _ => Network::Public,
    }
}

fn network_v6(address: Ipv6Addr) -> Network {
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        network_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Network::Never,
        [0, 0, 0, 0, 0, 0, 0, 1] => Network::Private,
        // IPv4 embedded in IPv6: mapped, compatible, NAT64, 6to4.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] => embedded(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x2002, high, low, ..] => embedded(high, low),
        // Metadata services of Amazon and Google.
        [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254] => Network::Never,
        [0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x254] => Network::Never,
        [0xfc00..=0xfdff, ..] => Network::Private,
        // IETF protocols including Teredo, documentation.
        [0x2001, 0..=0x01ff, ..] | [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => {
            Network::Never
        }
        [0x2000..=0x3fff, ..] => Network::Public,
        // Link-local, site-local, multicast, local NAT64 and everything unassigned.
        _ => Network::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Network {
        network(text.parse().expect("an address"))
    }

    #[test]
    fn public_addresses_are_public() {
        for address in [
            "1.1.1.1",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.169.0.1",
            "223.255.255.254",
            "2606:4700::1111",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2002:0101:0101::1",
        ] {
            assert_eq!(of(address), Network::Public, "{address}");
        }
    }

    #[test]
    fn private_addresses_are_private_in_every_dress() {
        for address in [
            "127.0.0.1",
            "127.255.255.254",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "100.127.255.255",
            "::1",
            "fc00::1",
            "fdff::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:c0a8:0101::1",
        ] {
            assert_eq!(of(address), Network::Private, "{address}");
        }
    }

    #[test]
    fn link_local_metadata_and_what_no_one_owns_is_never_called() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "169.254.170.2",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "192.0.2.1",
            "::",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "::ffff:169.254.169.254",
            "::ffff:0.0.0.0",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::1",
            "2002:a9fe:a9fe::1",
            "2001::1",
            "2001:db8::1",
        ] {
            assert_eq!(of(address), Network::Never, "{address}");
        }
    }
}
