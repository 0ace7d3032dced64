//! Repeats after a restore what was erased, revoked or switched off since the backup, in its order. Each act is noted again,
//! for the backups of this server.

use std::collections::BTreeSet;

use time::OffsetDateTime;

use super::erasures::ErasuresSince;
use super::model::BackupError;
use super::store;
use crate::accounts::admin_events::{AdminAction, AdminActor};
use crate::accounts::{AccountError, Accounts, AgentId, TokenId, UserId};
use crate::activity::Activity;
use crate::db::{self, Db};
use crate::erasure::{self, ErasureError};
use crate::providers::settings;
use crate::replay::{Note, NotedAct};
use crate::webhooks;

/// What became of the notes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Repeated {
    /// Of those that there was still something to do for.
    pub erasures: usize,
    pub revocations: usize,
    /// Accounts that stay as they are: nobody else is an admin of this server.
    pub last_admins: BTreeSet<i64>,
}

/// `tell` is called after each note.
pub async fn repeat(
    db: &Db,
    accounts: &Accounts,
    activity: &Activity,
    since: &ErasuresSince,
    now: OffsetDateTime,
    mut tell: impl FnMut(),
) -> Result<Repeated, BackupError> {
    let (mut repeated, mut demoted) = (Repeated::default(), BTreeSet::new());
    for note in &since.notes {
        let is_erasure = matches!(
            note.what,
            NotedAct::Memory
                | NotedAct::Session
                | NotedAct::Document
                | NotedAct::Message
                | NotedAct::Entity
                | NotedAct::Account
        );
        let done = match note.what {
            _ if note.is_misread() => Ok(false),
            _ if is_erasure => {
                erasure::repeat(db, activity, note, now).await.map_err(BackupError::from)
            }
            // What the backup says was given since is not given; only what was taken and given back is as it was.
            NotedAct::AdminPromoted if !demoted.contains(&note.user) => Ok(false),
            _ => revoke(db, accounts, note, now).await,
        };
        match done {
            Ok(was_there) if is_erasure => repeated.erasures += usize::from(was_there),
            Ok(was_there) => repeated.revocations += usize::from(was_there && !is_given(note.what)),
            Err(BackupError::Erasure(ErasureError::LastAdmin)) => {
                repeated.last_admins.insert(note.user);
            }
            Err(BackupError::Revocation(AccountError::Invalid(refused)))
                if refused.code == "last_admin" =>
            {
                repeated.last_admins.insert(note.user);
            }
            // The row that it is about came after the backup, or its account is not there.
            Err(BackupError::Revocation(AccountError::NotFound)) => {}
            Err(
                BackupError::Database(error)
                | BackupError::Revocation(AccountError::Database(error)),
            ) if db::is_of_a_gone_user(&error) => {}
            Err(error) => return Err(error),
        }
        if note.what == NotedAct::AdminDemoted {
            demoted.insert(note.user);
        }
        tell();
    }
    if let Some(mac) = &since.last_mac {
        // What is noted from now on follows the last line.
        let mut tx = db.as_system().await?;
        store::set_last_mac(&mut tx, mac).await?;
        tx.commit().await?;
    }
    Ok(repeated)
}

/// What was taken before is given back.
fn is_given(what: NotedAct) -> bool {
    use NotedAct as Act;
    matches!(
        what,
        Act::AccountEnabled
            | Act::AdminPromoted
            | Act::AgentOn
            | Act::TeamWritable
            | Act::MemoryOn
            | Act::ChatOn
            | Act::EmbeddingsOn
            | Act::EndpointAllowed
    )
}

/// False if there is nothing to do.
async fn revoke(
    db: &Db,
    accounts: &Accounts,
    note: &Note,
    now: OffsetDateTime,
) -> Result<bool, BackupError> {
    use NotedAct as Act;
    let (user, id) = (UserId(note.user), note.id.unwrap_or_default());
    let change = match note.what {
        Act::TokenRevoked => return Ok(accounts.revoke_again(Some(user), TokenId(id)).await?),
        Act::ServiceTokenRevoked => return Ok(accounts.revoke_again(None, TokenId(id)).await?),
        Act::TeamLeft => return Ok(accounts.leave_again(user, id).await?),
        Act::TeamReadOnly | Act::TeamWritable => {
            let read_only = note.what == Act::TeamReadOnly;
            accounts.make_team_read_only(user, AgentId(id), read_only).await?;
            return Ok(true);
        }
        Act::WebhookDeleted => return Ok(webhooks::delete_again(db, user, id, now).await?),
        Act::AgentOff | Act::AgentOn => {
            let on = note.what == Act::AgentOn;
            accounts.switch_agent_memory(user, AgentId(id), on).await?;
            return Ok(true);
        }
        Act::MemoryOff | Act::MemoryOn => {
            accounts.switch_user_memory(user, note.what == Act::MemoryOn).await?;
            return Ok(true);
        }
        Act::AccountDisabled => AdminAction::Disable,
        Act::AccountEnabled => AdminAction::Enable,
        Act::AdminDemoted => AdminAction::Demote,
        Act::AdminPromoted => AdminAction::Promote,
        _ => return Ok(settings::repeat(db, note, now).await?),
    };
    accounts.change_person(AdminActor::Command, user, change).await?;
    Ok(true)
}
