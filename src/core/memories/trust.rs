//! How far a memory is trusted, and which of two contradicting ones is archived. How certain a source is, is a
//! separate value: [`confidence`](super::ItemSource::confidence).

use time::OffsetDateTime;

use crate::db::labels;
use crate::json::json_labels;

labels! {
    /// From least to most trusted. A derived memory has the lowest trust of its sources.
    #[derive(PartialOrd, Ord)]
    pub enum Trust {
        /// Web pages, mails and files fetched by a tool, and text that the user only pasted.
        External = "external",
        /// A tool's own output.
        Tool = "tool",
        /// An agent's inference.
        Agent = "agent",
        /// The user's words, or an action on a page.
        User = "user",
    }
}

impl Trust {
    /// The trust for a reader: another user's memory counts as external.
    pub fn read_by_another(self, is_another: bool) -> Self {
        match is_another {
            true => Self::External,
            false => self,
        }
    }

    /// User and agent share the highest rank; tool and external each have a lower one.
    fn rank(self) -> u8 {
        match self {
            Self::External => 0,
            Self::Tool => 1,
            Self::Agent | Self::User => 2,
        }
    }

    /// A statement of a lower rank does not renew one of a higher rank.
    pub fn is_below(self, other: Self) -> bool {
        self.rank() < other.rank()
    }
}

json_labels!(Trust: [Trust::User, Trust::Agent, Trust::Tool, Trust::External]);

/// An active item, when another one contradicts it.
#[derive(Clone, Copy, Debug)]
pub struct Holder {
    pub trust: Trust,
    /// The person confirmed it.
    pub is_locked: bool,
    /// When it was last stated.
    pub stated_at: OffsetDateTime,
}

impl Holder {
    /// The effective trust: an item that the person confirmed counts as their statement.
    pub(super) fn held_by(&self) -> Trust {
        match self.is_locked {
            true => Trust::User,
            false => self.trust,
        }
    }
}

/// The item that contradicts it: another value of its key, or a contradiction found by a model.
#[derive(Clone, Copy, Debug)]
pub struct Newcomer {
    pub trust: Trust,
    /// `None`: now.
    pub said_at: Option<OffsetDateTime>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The newcomer replaces the holder.
    Supersedes,
    /// The holder stays; the newcomer is archived.
    Stays(StayReason),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StayReason {
    LessTrusted,
    Locked,
    Older,
}

/// Which of the two stays, independent of the order in which they came. Only the user supersedes what they confirmed.
pub fn verdict(holder: Holder, newcomer: Newcomer) -> Verdict {
    let held = holder.held_by();
    if newcomer.trust.is_below(held) {
        return Verdict::Stays(StayReason::LessTrusted);
    }
    if held.is_below(newcomer.trust) {
        return Verdict::Supersedes;
    }
    if newcomer.said_at.is_some_and(|at| at < holder.stated_at) {
        return Verdict::Stays(StayReason::Older);
    }
    match holder.is_locked && newcomer.trust != Trust::User {
        true => Verdict::Stays(StayReason::Locked),
        false => Verdict::Supersedes,
    }
}

#[cfg(test)]
mod tests {
    use time::Duration;

    use super::*;

    /// The matrix of docs/consolidation.md. Rows: holders. Columns: newcomers of trust external, tool, agent and user, said
    /// later and earlier. `S`: supersedes; otherwise archived as less trusted (`t`), older (`o`) or holder confirmed by the person (`c`).
    const MATRIX: [(Trust, bool, &str, &str); 8] = [
        (Trust::External, false, "SSSS", "oSSS"),
        (Trust::Tool, false, "tSSS", "toSS"),
        (Trust::Agent, false, "ttSS", "ttoo"),
        (Trust::User, false, "ttSS", "ttoo"),
        (Trust::External, true, "ttcS", "ttoo"),
        (Trust::Tool, true, "ttcS", "ttoo"),
        (Trust::Agent, true, "ttcS", "ttoo"),
        (Trust::User, true, "ttcS", "ttoo"),
    ];

    #[test]
    fn each_pair_is_decided_by_the_matrix() {
        let stated_at = OffsetDateTime::UNIX_EPOCH;
        for (trust, is_locked, later, earlier) in MATRIX {
            let holder = Holder { trust, is_locked, stated_at };
            let earlier_at = Some(stated_at - Duration::SECOND);
            let later_at = Some(stated_at + Duration::SECOND);
            for (said_at, row) in [
                (later_at, later),
                // With equal times, the newcomer counts as later.
                (Some(stated_at), later),
                (None, later),
                (earlier_at, earlier),
            ] {
                for (newer, expected) in Trust::ALL.into_iter().zip(row.chars()) {
                    let newcomer = Newcomer { trust: newer, said_at };
                    let letter = match verdict(holder, newcomer) {
                        Verdict::Supersedes => 'S',
                        Verdict::Stays(StayReason::LessTrusted) => 't',
                        Verdict::Stays(StayReason::Older) => 'o',
                        Verdict::Stays(StayReason::Locked) => 'c',
                    };
                    assert_eq!(letter, expected, "{holder:?} {newcomer:?}");
                }
            }
        }
    }

    #[test]
    fn of_two_that_nobody_confirmed_the_same_one_holds_in_either_order() {
        let (first, then) =
            (OffsetDateTime::UNIX_EPOCH, OffsetDateTime::UNIX_EPOCH + Duration::DAY);
        let takes_place = |held, stated_at, trust, said_at| {
            let holder = Holder { trust: held, is_locked: false, stated_at };
            let newcomer = Newcomer { trust, said_at: Some(said_at) };
            verdict(holder, newcomer) == Verdict::Supersedes
        };
        for a in Trust::ALL {
            for b in Trust::ALL {
                let b_holds = takes_place(a, first, b, then);
                assert_eq!(b_holds, !takes_place(b, then, a, first), "{a} {b}");
            }
        }
    }

    #[test]
    fn classes_are_read_as_they_are_written() {
        for trust in Trust::ALL {
            assert_eq!(Trust::from_label(trust.as_str()), Some(trust));
        }
        assert_eq!(Trust::from_label("admin"), None);
    }
}
