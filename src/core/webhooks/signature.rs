//! Signatures as the specification Standard Webhooks says: HMAC-SHA256 over `id.timestamp.body`, in base64 with the prefix
//! `v1,`. A secret cannot be printed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rand::TryRngCore;
use rand::rngs::OsRng;
use ring::hmac::{HMAC_SHA256, Key, sign};

use crate::seal::SealError;

const PREFIX: &str = "whsec_";
const SECRET_BYTES: usize = 32;

/// `whsec_` and 32 bytes in base64.
pub struct WebhookSecret(String);

impl WebhookSecret {
    pub(super) fn generate() -> Result<Self, SealError> {
        let mut bytes = [0; SECRET_BYTES];
        OsRng.try_fill_bytes(&mut bytes).map_err(|_| SealError::Randomness)?;
        Ok(Self(format!("{PREFIX}{}", STANDARD.encode(bytes))))
    }

    /// Only for sealing it, and for showing it once.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// What signs now: the secret and, for a day after a rotation, the one before.
pub(super) struct SecretPair(Vec<Key>);

impl SecretPair {
    pub(super) fn parse(current: &str, old: Option<&str>) -> Result<Self, SealError> {
        let texts = [Some(current), old];
        let keys = texts.into_iter().flatten().map(|text| {
            let encoded = text.strip_prefix(PREFIX).ok_or(SealError::Damaged)?;
            let bytes = STANDARD.decode(encoded).map_err(|_| SealError::Damaged)?;
            Ok(Key::new(HMAC_SHA256, &bytes))
        });
        Ok(Self(keys.collect::<Result<_, _>>()?))
    }

    /// The header `webhook-signature`: one signature of each secret, separated by blanks.
    pub(super) fn sign(&self, id: &str, timestamp_s: i64, body: &[u8]) -> String {
        let mut signed = format!("{id}.{timestamp_s}.").into_bytes();
        signed.extend_from_slice(body);
        let signatures = self.0.iter().map(|key| {
            let tag = sign(key, &signed);
            format!("v1,{}", STANDARD.encode(tag.as_ref()))
        });
        signatures.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The example of the specification's own libraries.
    #[test]
    fn a_signature_is_that_of_the_specification() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let body = br#"{"test": 2432232314}"#;
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        let one = SecretPair::parse(secret, None).unwrap();
        assert_eq!(one.sign(id, 1_614_265_330, body), signature);
        let other = WebhookSecret::generate().unwrap();
        let two = SecretPair::parse(other.reveal(), Some(secret)).unwrap();
        let both = two.sign(id, 1_614_265_330, body);
        let (new, old) = both.split_once(' ').unwrap();
        assert_eq!(old, signature);
        assert!(new != old && new.starts_with("v1,"));
        assert!(SecretPair::parse("whsec_!", None).is_err());
    }
}
