//! Whether this server has written a file for this person: its last line ends with the hash of everything before it, with
//! their address, sealed by the server's secret key. A neighbour's file is signed for the neighbour.

use std::io::{self, BufRead, Read};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::read::ImportRecord;
use super::source::LINE_BYTES_MAX;
use crate::db::labels;
use crate::seal::{Sealer, SecretOwner};

const SIGNATURE: SecretOwner = SecretOwner { user_id: 0, column: "export.signature" };

labels! {
    /// Whose word a file's memories are.
    pub enum FileOrigin {
        /// This server has written it for this person.
        Signed = "signed",
        /// The person vouches for it.
        Vouched = "vouched",
        /// Its memories are `external`, unconfirmed and unused, whatever it says.
        Unknown = "unknown",
    }
}

impl FileOrigin {
    pub(super) fn taken(self, record: ImportRecord) -> ImportRecord {
        match self {
            Self::Signed | Self::Vouched => record,
            Self::Unknown => record.of_unknown_origin(),
        }
    }
}

/// How the last line goes on behind what is signed.
const BEFORE_SIGNATURE: &str = ",\"signature\":\"";

/// Of the lines before the last, and of the last without its signature. `None` if the operating system has no randomness.
pub fn sign(sealer: &Sealer, email: &str, hash: &Sha256, last_line: &str) -> Option<String> {
    let hash = hash.clone().chain_update(last_line);
    let sealed = sealer.seal(SIGNATURE, &signed_text(email, &hash)).ok()?;
    Some(STANDARD.encode(sealed))
}

/// Reads the file to its end. False for whatever is not an export of this server for this person, to the last byte.
///
/// # Errors
/// The file cannot be read.
pub fn is_signed(mut file: impl BufRead, sealer: &Sealer, email: &str) -> io::Result<bool> {
    let (mut hash, mut line, mut next) = (Sha256::new(), Vec::new(), Vec::new());
    loop {
        next.clear();
        let read = file.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut next)?;
        if read as u64 == LINE_BYTES_MAX {
            return Ok(false);
        }
        if read == 0 {
            break;
        }
        hash.update(&line);
        std::mem::swap(&mut line, &mut next);
    }
    let last = str::from_utf8(&line).ok().and_then(|last| last.strip_suffix("\"}\n"));
    let Some((head, signature)) = last.and_then(|last| last.rsplit_once(BEFORE_SIGNATURE)) else {
        return Ok(false);
    };
    hash.update(format!("{head}}}"));
    let sealed = STANDARD.decode(signature).ok();
    let opened = sealed.and_then(|sealed| sealer.open(SIGNATURE, &sealed).ok());
    Ok(opened == Some(signed_text(email, &hash)))
}

fn signed_text(email: &str, hash: &Sha256) -> String {
    format!("{} {}", STANDARD.encode(hash.clone().finalize()), email.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_signed_as_a_whole_for_one_person_by_one_server() {
        let (sealer, mut hash) = (Sealer::new(&[7; 32]), Sha256::new());
        let lines = "{\"keepsake_export\":1}\n{\"record\":\"item\"}\n";
        hash.update(lines);
        let end = r#"{"record":"end","counts":{"items":1}}"#;
        let signature = sign(&sealer, "Anna@example.com", &hash, end).expect("signed");
        let last =
            format!("{},\"signature\":\"{signature}\"}}\n", end.strip_suffix('}').expect("an end"));
        let file = format!("{lines}{last}");
        let holds = |file: &str, sealer: &Sealer, email: &str| {
            is_signed(file.as_bytes(), sealer, email).expect("read")
        };
        assert!(holds(&file, &sealer, "anna@example.com"));
        assert!(!holds(&file, &sealer, "ben@example.com"));
        assert!(!holds(&file, &Sealer::new(&[8; 32]), "anna@example.com"));
        for changed in [
            file.replace("item", "Item"),
            format!("{file}{{\"record\":\"item\"}}\n"),
            file.replace(":1}\n", ":1}\r\n"),
            file.replacen("{\"record\":\"item\"}\n", "", 1),
            lines.to_owned(),
            String::new(),
            file.replace("\"items\":1", "\"items\":2"),
            format!(
                "{lines}{{\"record\":\"item\",\"content\":\"mine\",\"signature\":\"{signature}\"}}\n"
            ),
            format!("{lines}{}", last.replace("\"end\"", "\"item\"")),
            format!("{file} "),
        ] {
            assert!(!holds(&changed, &sealer, "anna@example.com"), "{changed}");
        }
    }
}
