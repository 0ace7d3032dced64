//! An agent's settings, as its form shows them, and its team.

use std::collections::{HashMap, HashSet};

use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{Duration, OffsetDateTime};

use crate::view::{
    AgentRow, AgentSetting, AgentsPage, JoinPage, TeamMate, TeamView, TokenRow, TokenState,
};

use crate::accounts::model::{Agent, TokenRecord};
use crate::accounts::teams::{Membership, Teams};
use crate::accounts::{AccountError, AgentId, AgentSettings, LinkToken, MemoryScope, UserId};
use crate::containment;
use crate::page::{Page, PageError, account_error, database};

/// What a field for a date and a time takes.
const LOCAL_MINUTE: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]");
/// An agent that called so recently is shown as active.
const ACTIVE_FOR: Duration = Duration::minutes(5);

impl Page {
    pub async fn agents_page(&self) -> Result<AgentsPage, PageError> {
        let agents =
            self.state.accounts.list_agents(self.viewer.user_id).await.map_err(account_error)?;
        let teams = self.state.accounts.teams(self.viewer.user_id).await;
        let undone =
            containment::list_made(&self.state.db, self.viewer.user_id).await.map_err(database)?;
        let mut teams = self.team_views(teams.map_err(account_error)?, &agents);
        let now = self.state.clock.now();
        let is_active = |tokens: &[TokenRecord]| {
            let used = tokens.iter().filter_map(|token| token.last_used_at).max();
            used.is_some_and(|at| now - at < ACTIVE_FOR)
                && tokens.iter().any(|token| token_state(token, now) == TokenState::Valid)
        };
        let rows = agents.into_iter().map(|(agent, tokens)| AgentRow {
            is_active: is_active(&tokens),
            team: teams.remove(&agent.id.0).unwrap_or_default(),
            undone: undone.get(&agent.id.0).map(|made| (made.made_at, made.since)),
            id: agent.id.0,
            name: agent.name,
            created: agent.created_at,
            memory_enabled: agent.memory_enabled,
            profile: agent.profile.as_str(),
            item_count: agent.item_count,
            settings: settings(&agent.settings),
            settings_document: serde_json::to_string_pretty(&agent.settings).unwrap_or_default(),
            tokens: tokens.into_iter().map(|token| self.token_row(token)).collect(),
        });
        Ok(AgentsPage {
            agents: rows.collect(),
            a_day_ago: self
                .zone()
                .local(now - Duration::DAY)
                .format(LOCAL_MINUTE)
                .unwrap_or_default(),
            public_url: self.state.public_url.as_str().to_owned(),
        })
    }

    pub fn token_row(&self, token: TokenRecord) -> TokenRow {
        let client = token.client.as_ref().map(|client| self.connected(client));
        TokenRow {
            client,
            state: token_state(&token, self.state.clock.now()),
            id: token.id.0,
            hint: format!("ks_…{}", token.hint),
            scopes: token.scopes,
            created: token.created_at,
            expires: token.expires_at,
            last_used: token.last_used_at,
        }
    }

    /// By agent.
    pub(crate) fn team_views(
        &self,
        teams: Teams,
        agents: &[(Agent, Vec<TokenRecord>)],
    ) -> HashMap<i64, TeamView> {
        let members: HashSet<i64> =
            teams.memberships.iter().filter(|tie| !tie.leads).map(|tie| tie.agent.0).collect();
        let mate = |tie: &Membership| TeamMate {
            id: tie.id.0,
            agent: tie.other.clone(),
            person: tie.person.clone(),
            since: tie.since,
            is_read_only: tie.is_read_only,
        };
        let count = |counts: &[(AgentId, i64)], agent: i64| {
            let found = counts.iter().find(|(of, _)| of.0 == agent);
            found.map_or(0, |(_, n)| *n)
        };
        let view = |agent: &Agent| {
            let ties = || teams.memberships.iter().filter(|tie| tie.agent == agent.id);
            let could_join = agents.iter().map(|(other, _)| other);
            let could_join = could_join
                .filter(|other| other.id != agent.id && !members.contains(&other.id.0))
                .map(|other| (other.id.0, other.name.clone()));
            TeamView {
                leader: ties().find(|tie| !tie.leads).map(mate),
                members: ties().filter(|tie| tie.leads).map(mate).collect(),
                invitations: count(&teams.invitations, agent.id.0),
                own_count: count(&teams.own, agent.id.0),
                candidates: could_join.collect(),
                is_read_only: teams.read_only.contains(&agent.id),
            }
        };
        let of_all = agents.iter().map(|(agent, _)| (agent.id.0, view(agent)));
        of_all.collect()
    }

    pub(crate) async fn join_view(
        &self,
        user: UserId,
        token: &str,
    ) -> Result<Option<JoinPage>, AccountError> {
        let Some(token) = LinkToken::parse(token) else {
            return Ok(None);
        };
        let accounts = &self.state.accounts;
        let Some(open) = accounts.find_team_invitation(user, &token).await? else {
            return Ok(None);
        };
        let agents = accounts.agent_names(user).await?.into_iter();
        Ok(Some(JoinPage {
            leader: open.agent,
            person: open.person,
            is_read_only: open.is_read_only,
            agents: agents.map(|(id, name)| (id.0, name)).collect(),
        }))
    }
}

/// Each setting with its default.
pub(crate) fn settings(settings: &AgentSettings) -> Vec<AgentSetting> {
    let on = |value: Option<bool>| match value {
        None => String::new(),
        Some(true) => "on".to_owned(),
        Some(false) => "off".to_owned(),
    };
    let number = |value: Option<String>| value.unwrap_or_default();
    let switch = |name, label, hint, value| AgentSetting {
        name,
        label,
        hint,
        value: on(value),
        default: "on".to_owned(),
        choices: vec![("on", "on"), ("off", "off")],
    };
    let of = |name, label, hint, value, default: String| AgentSetting {
        name,
        label,
        hint,
        value: number(value),
        default,
        choices: Vec::new(),
    };
    let words_of = |scope| match scope {
        MemoryScope::Shared => "shared: memories that all agents share",
        MemoryScope::OwnFirst => "own_first: its own, then shared memories",
        MemoryScope::OwnOnly => "own_only: only its own",
    };
    let scope = AgentSetting {
        name: "memory_scope",
        label: "Memory scope",
        hint: "With the last two, its new memories are its own: your other agents do not see them. You see all",
        value: settings.memory_scope.map(|scope| scope.as_str().to_owned()).unwrap_or_default(),
        default: "shared".to_owned(),
        choices: MemoryScope::ALL.map(|scope| (scope.as_str(), words_of(scope))).to_vec(),
    };
    vec![
        scope,
        switch(
            "auto_inject_enabled",
            "Recall",
            "Adds memories to its prompts automatically, where it calls recall before each turn",
            settings.auto_inject_enabled,
        ),
        of(
            "auto_inject_threshold",
            "Minimum relevance",
            "0 to 1; less relevant memories stay out of its prompts",
            settings.auto_inject_threshold.map(|n| n.to_string()),
            AgentSettings::THRESHOLD.to_string(),
        ),
        of(
            "auto_inject_max_tokens",
            "Tokens per turn",
            "30 to 4,000; the most that one recall returns",
            settings.auto_inject_max_tokens.map(|n| n.to_string()),
            AgentSettings::MAX_TOKENS.to_string(),
        ),
        of(
            "episodic_ttl_days",
            "Days to keep episodes",
            "1 to 36,500; applies to its future sessions",
            settings.episodic_ttl_days.map(|n| n.to_string()),
            "as on the page Sessions".to_owned(),
        ),
        switch(
            "consolidation_enabled",
            "Session reading",
            "Its sessions become memories and episodes",
            settings.consolidation_enabled,
        ),
    ]
}

fn token_state(token: &TokenRecord, now: OffsetDateTime) -> TokenState {
    match token.revoked_at {
        Some(_) => TokenState::Revoked,
        None if token.is_valid(now) => TokenState::Valid,
        None => TokenState::Expired,
    }
}
