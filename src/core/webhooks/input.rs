//! Parses the form of a new webhook.

use crate::input::Invalid;
use crate::memories::feed::FeedEventType;
use crate::providers::EndpointUrl;

#[derive(Clone, Debug)]
pub struct NewWebhook {
    pub url: EndpointUrl,
    /// At least one, in the order of [`FeedEventType::ALL`].
    pub events: Vec<FeedEventType>,
    pub includes_text: bool,
}

impl NewWebhook {
    /// `events`: their names, separated by blanks.
    ///
    /// # Errors
    /// [`Invalid`] naming `url` or `event`.
    pub fn parse(url: &str, events: &str, includes_text: bool) -> Result<Self, Invalid> {
        let url = EndpointUrl::parse("url", url)?;
        let named: Option<Vec<FeedEventType>> =
            events.split_whitespace().map(FeedEventType::from_label).collect();
        let named = named.ok_or_else(|| {
            let known: Vec<_> = FeedEventType::ALL.map(FeedEventType::as_str).to_vec();
            let sentence = format!("`event` is not known; give any of {}.", known.join(", "));
            Invalid::new("event", "unknown_event", sentence)
        })?;
        let all = FeedEventType::ALL.into_iter();
        let events: Vec<_> = all.filter(|known| named.contains(known)).collect();
        if events.is_empty() {
            let sentence = "`event` is empty; choose at least one event.";
            return Err(Invalid::new("event", "required", sentence));
        }
        Ok(Self { url, events, includes_text })
    }
}

pub(super) fn forbidden_address() -> Invalid {
    Invalid::new(
        "url",
        "forbidden_address",
        "`url` is an address of this machine or of a private network; give a public one, or ask an admin to allow its host and port.",
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_has_an_address_and_events_that_are_known() {
        let url = "https://example.com/hook?key=1";
        let new = NewWebhook::parse(url, "job.failed memory.stored job.failed", true).unwrap();
        assert_eq!(new.events, [FeedEventType::Stored, FeedEventType::JobFailed]);
        for (url, events, field) in [
            ("", "memory.stored", "url"),
            ("ftp://example.com", "memory.stored", "url"),
            ("https://user:secret@example.com", "memory.stored", "url"),
            (url, "", "event"),
            (url, "memory.read", "event"),
            (url, "memory.stored memory.", "event"),
        ] {
            let refused = NewWebhook::parse(url, events, false).unwrap_err();
            assert_eq!(refused.field, field, "{url} {events}");
        }
    }
}
