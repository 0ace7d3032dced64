//! However it ends, it ends at once.

use keepsake::accounts::MemoryScope;
use keepsake::accounts::admin_events::{AdminAction, AdminActor};
use serde_json::json;

use super::{Scene, agent_id, hits};

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
    let other = agent_id(&scene.app, &cleo, "agent").await;
    assert!(accounts.leave_team(cleo.id, other, tie).await.is_err());
    assert!(accounts.leave_team(cleo.id, lead, tie).await.is_err());
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
    for on in [false, true] {
        accounts.switch_agent_memory(anna.id, lead, on).await.unwrap();
        assert_eq!(hits(&scene.ben, "boat").await.len(), if on { 2 } else { 1 });
    }
    for on in [false, true] {
        accounts.switch_user_memory(anna.id, on).await.unwrap();
        assert_eq!(hits(&scene.ben, "boat").await.len(), if on { 2 } else { 1 });
    }
    for act in [AdminAction::Disable, AdminAction::Enable] {
        accounts.change_person(AdminActor::Command, anna.id, act).await.unwrap();
        let expected = if act == AdminAction::Enable { 2 } else { 1 };
        assert_eq!(hits(&scene.ben, "boat").await.len(), expected);
    }
    let browser = app.signed_in(anna).await;
    let fields = [("email", "anna@example.com"), ("password", crate::support::PASSWORD)];
    let erased = browser.post("/data/erase", &fields).await;
    assert!(erased.status().is_redirection(), "{}", erased.text().await.unwrap());
    scene.assert_alone().await;
    app.run_due().await;
    scene.assert_alone().await;
    let left: i64 = app.sql("SELECT count(*) FROM team_members").value().await;
    assert_eq!(left, 0);
}

#[tokio::test]
async fn with_the_first_member_a_leader_that_shares_all_begins_to_keep_what_it_learns() {
    let scene = Scene::start().await;
    let (app, anna) = (&scene.app, &scene.anna);
    let shared = agent_id(app, anna, "agent").await;
    let lead = agent_id(app, anna, "lead").await;
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
    let read = anna.call("memory_get", json!({ "item_id": new })).await;
    assert_eq!(read["owner"], "agent", "{read}");
}
