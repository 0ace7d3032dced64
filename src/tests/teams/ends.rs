//! However it ends, it ends at once.

use keepsake::accounts::MemoryScope;
use keepsake::accounts::admin_events::{AdminAction, AdminActor};

use super::{Scene, agent_id, hits, read};

#[tokio::test]
async fn who_leaves_or_is_removed_has_what_is_its_own_from_the_next_call_on() {
    let scene = Scene::start().await;
    let tie = scene.join().await;
    assert_eq!(hits(&scene.ben, "boat").await.len(), 2);
    scene.leave(tie).await;
    scene.assert_alone().await;
    let tie = scene.join().await;
    assert_eq!(hits(&scene.ben, "boat").await.len(), 2);
    let lead = agent_id(&scene.app, &scene.anna, "lead").await;
    let accounts = &scene.app.accounts;
    // Of a membership that is not theirs nobody ends anything.
    let cleo = scene.app.user("cleo").await;
    for agent in [agent_id(&scene.app, &cleo, "agent").await, lead] {
        assert!(accounts.leave_team(cleo.id, agent, tie).await.is_err(), "{agent:?}");
    }
    accounts.leave_team(scene.anna.id, lead, tie).await.unwrap();
    scene.assert_alone().await;
}

#[tokio::test]
async fn a_leader_that_is_off_disabled_or_erased_lends_nothing() {
    let scene = Scene::start().await;
    let (app, anna) = (&scene.app, &scene.anna);
    scene.join().await;
    let lead = agent_id(app, anna, "lead").await;
    let accounts = &app.accounts;
    let found = async || hits(&scene.ben, "boat").await.len();
    for (is_on, expected) in [(false, 1), (true, 2)] {
        accounts.switch_agent_memory(anna.id, lead, is_on).await.unwrap();
        assert_eq!(found().await, expected, "agent: {is_on}");
    }
    for (is_on, expected) in [(false, 1), (true, 2)] {
        accounts.switch_user_memory(anna.id, is_on).await.unwrap();
        assert_eq!(found().await, expected, "user: {is_on}");
    }
    for (act, expected) in [(AdminAction::Disable, 1), (AdminAction::Enable, 2)] {
        accounts.change_person(AdminActor::Command, anna.id, act).await.unwrap();
        assert_eq!(found().await, expected, "{act:?}");
    }
    let browser = app.signed_in(anna).await;
    let fields = [("email", "anna@example.com"), ("password", crate::support::PASSWORD)];
    let erased = browser.post("/data/erase", &fields).await;
    assert!(erased.status().is_redirection(), "{}", erased.text().await.unwrap());
    scene.assert_alone().await;
    app.run_due().await;
    scene.assert_alone().await;
    assert_eq!(app.count("team_members").await, 0);
}

#[tokio::test]
async fn with_the_first_member_a_leader_that_shares_all_begins_to_keep_what_it_learns() {
    let scene = Scene::start().await;
    let (app, anna) = (&scene.app, &scene.anna);
    let (shared, lead) = (agent_id(app, anna, "agent").await, agent_id(app, anna, "lead").await);
    let scope = async |agent| {
        let agents = app.accounts.list_agents(anna.id).await.unwrap();
        let (found, _) = agents.into_iter().find(|(a, _)| a.id == agent).unwrap();
        found.settings.memory_scope
    };
    app.accounts.add_to_team(anna.id, shared, lead).await.unwrap();
    assert_eq!(scope(shared).await, Some(MemoryScope::OwnFirst));
    let alone = agent_id(app, anna, "alone").await;
    app.accounts.invite_to_team(anna.id, alone).await.unwrap();
    assert_eq!(scope(alone).await, Some(MemoryScope::OwnOnly), "it keeps already");
    let new = anna.add_to("boats", "A third boat is green.").await;
    assert!(hits(&scene.lead, "green").await.contains(&super::lent(new, "agent")));
    assert_eq!(read(anna, new).await["owner"], "agent");
}
