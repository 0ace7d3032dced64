//! Secrets that are shown once and stored as their SHA-256: tokens of agents and operators (`ks_`, 32 random bytes and a
//! checksum, in lower-case hex), and those of links (32 random bytes). The checksum tells a mistyped or truncated token from
//! a revoked one without a query. An agent's token begins with its user's number, so that a distributed database asks one
//! server; those of older versions have none.

use std::fmt;

use rand::TryRngCore;
use rand::rngs::OsRng;
use sha2::{Digest, Sha256};

use super::super::model::UserId;

const PREFIX: &str = "ks_";
const RANDOM_BYTES: usize = 32;
const CHECKSUM_BYTES: usize = 4;
const USER_BYTES: usize = 8;
const HINT_CHARS: usize = 4;

/// The text is only available through [`Token::reveal`].
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// # Errors
    /// If the operating system provides no randomness.
    pub fn generate(user: Option<UserId>) -> Result<Self, rand::rand_core::OsError> {
        let user = user.map_or_else(String::new, |user| hex(&user.0.to_be_bytes()));
        let body = user + &random_hex()?;
        let checksum = checksum(&body);
        Ok(Self(format!("{PREFIX}{body}{checksum}")))
    }

    /// `None` if it cannot be a token of this server.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?;
        let (body, sum) = rest.split_at_checked(rest.len().checked_sub(CHECKSUM_BYTES * 2)?)?;
        let is_whole = [RANDOM_BYTES * 2, (USER_BYTES + RANDOM_BYTES) * 2].contains(&body.len());
        (is_whole && is_hex(body) && sum == checksum(body)).then(|| Self(text.to_owned()))
    }

    /// The user it was made for; `None` for an operator's, or one of an older version. Only narrows the look-up: the hash of
    /// the whole token decides.
    pub fn user(&self) -> Option<UserId> {
        let rest = &self.0[PREFIX.len()..];
        let has_user = rest.len() == (USER_BYTES + RANDOM_BYTES + CHECKSUM_BYTES) * 2;
        let number = has_user.then(|| &rest[..USER_BYTES * 2])?;
        i64::from_str_radix(number, 16).ok().map(UserId)
    }

    /// Whether a text looks like a token, complete or not.
    pub fn is_like(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }

    /// The last characters, to identify a token in a list.
    pub fn hint(&self) -> &str {
        &self.0[self.0.len() - HINT_CHARS..]
    }

    /// The token itself, for the only response that shows it.
    pub fn reveal(self) -> String {
        self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token(…{})", self.hint())
    }
}

/// The secret of a link, such as an invitation's.
#[derive(Clone, PartialEq, Eq)]
pub struct LinkToken(String);

impl LinkToken {
    pub(in crate::accounts) fn generate() -> Result<Self, rand::rand_core::OsError> {
        Ok(Self(random_hex()?))
    }

    /// `None` if it cannot be one of this server.
    pub fn parse(text: &str) -> Option<Self> {
        (is_hex(text) && text.len() == RANDOM_BYTES * 2).then(|| Self(text.to_owned()))
    }

    pub(in crate::accounts) fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }

    /// The token itself, for the only response that shows it.
    pub fn reveal(self) -> String {
        self.0
    }
}

impl fmt::Debug for LinkToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkToken(…)")
    }
}

fn random_hex() -> Result<String, rand::rand_core::OsError> {
    let mut random = [0_u8; RANDOM_BYTES];
    OsRng.try_fill_bytes(&mut random)?;
    Ok(hex(&random))
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

fn checksum(body: &str) -> String {
    hex(&Sha256::digest(body.as_bytes())[..CHECKSUM_BYTES])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_token_parses_and_a_mistyped_one_does_not() {
        let token = Token::generate(None).expect("randomness");
        assert_eq!(token.user(), None);
        let token = token.reveal();
        assert_eq!(token.len(), 3 + 64 + 8);
        assert!(Token::parse(&token).is_some());
        let mistyped = token.replacen(['0', '1', '2', '3'], "4", 1);
        assert!(mistyped == token || Token::parse(&mistyped).is_none());
        assert!(Token::parse(&token[..token.len() - 1]).is_none());
        assert!(Token::parse("ks_").is_none());
        assert!(Token::parse("ks_é").is_none());
    }

    #[test]
    fn an_agents_token_names_its_user_and_no_number_is_too_large() {
        let token = Token::generate(Some(UserId(7))).expect("randomness");
        assert_eq!(token.user(), Some(UserId(7)));
        let text = token.reveal();
        assert_eq!(text.len(), 3 + 16 + 64 + 8);
        assert!(Token::parse(&text).is_some());
        assert!(Token::parse(&text[..text.len() - 16]).is_none());
        let body = "f".repeat((USER_BYTES + RANDOM_BYTES) * 2);
        let forged = format!("{PREFIX}{body}{}", checksum(&body));
        assert_eq!(Token::parse(&forged).expect("whole").user(), None);
    }

    #[test]
    fn debug_output_hides_the_token() {
        let token = Token::generate(None).expect("randomness");
        let shown = format!("{token:?}");
        assert!(shown.len() < 20 && !token.reveal().contains(&shown));
    }
}
