//! Teams in the browser: invitations, joining, removing.

use super::{Scene, agent_id, hits};
use crate::support::Browser;

/// What a form comes to: the status, and the page.
async fn post(browser: &Browser, path: &str, fields: &[(&str, &str)]) -> (u16, String) {
    let answer = browser.post(path, fields).await;
    (answer.status().as_u16(), answer.text().await.unwrap())
}

async fn act(browser: &Browser, agent: i64, fields: &[(&str, &str)]) -> (u16, String) {
    post(browser, &format!("/agents/{agent}/team"), fields).await
}

/// The path of the invitation on the page.
async fn invite(browser: &Browser, agent: i64) -> String {
    let (status, page) = act(browser, agent, &[("action", "invite")]).await;
    assert_eq!(status, 200);
    let at = page.find("/team/").expect("a link");
    page[at..at + "/team/".len() + 64].to_owned()
}

#[tokio::test]
async fn an_invitation_is_handed_on_accepted_once_and_taken_back() {
    let scene = Scene::start().await;
    let (app, anna, ben) = (&scene.app, &scene.anna, &scene.ben);
    let (annas, bens) = (app.signed_in(anna).await, app.signed_in(ben).await);
    let lead = agent_id(app, anna, "lead").await.0;
    let crew_id = agent_id(app, ben, "crew").await.0;
    let crew = crew_id.to_string();
    let link = invite(&annas, lead).await;
    let page = annas.look("/agents").await;
    assert!(!page.contains(&link), "shown once");
    assert!(page.contains("1 invitation is open."), "{page}");

    let (status, _) = app.browser().get(&link).await;
    assert_eq!(status, 303, "whoever opens it signs in first");
    let page = bens.look(&link).await;
    for told in ["anna@example.com", "lead", "crew"] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let (status, page) = post(&bens, &link, &[("member", "999999")]).await;
    assert!(status == 422 && page.contains("is no agent of yours"), "{status} {page}");
    assert_eq!(post(&bens, &link, &[("member", &crew)]).await.0, 303);
    assert_eq!(hits(ben, "boat").await.len(), 2);
    // Used up.
    assert_eq!(bens.get(&link).await.0, 404);
    assert_eq!(post(&bens, &link, &[("member", &crew)]).await.0, 404);

    let page = bens.look("/agents").await;
    assert!(page.contains("member of lead's team") && page.contains("anna@example.com"), "{page}");
    let page = annas.look("/agents").await;
    for told in ["leads 1", "ben@example.com", "It has 1 memory of its own."] {
        assert!(page.contains(told), "{told}: {page}");
    }

    // In one team at a time; the link is still good for another agent.
    let second = invite(&annas, lead).await;
    let (status, page) = post(&bens, &second, &[("member", &crew)]).await;
    assert!(status == 422 && page.contains("in a team already"), "{status} {page}");
    assert_eq!(post(&annas, &second, &[("member", &lead.to_string())]).await.0, 422);
    assert_eq!(act(&annas, lead, &[("action", "take_back")]).await.0, 200);
    assert_eq!(bens.get(&second).await.0, 404);

    // After a week it leads nowhere.
    let third = invite(&annas, lead).await;
    app.clock.advance(time::Duration::days(8));
    let bens = app.signed_in(ben).await;
    assert_eq!(bens.get(&third).await.0, 404);
    assert_eq!(post(&bens, &third, &[("member", &crew)]).await.0, 404);

    let tie = app.accounts.teams(ben.id).await.unwrap().memberships[0].id.0.to_string();
    assert_eq!(act(&bens, crew_id, &[("action", "leave"), ("tie", &tie)]).await.0, 200);
    scene.assert_alone().await;
}

#[tokio::test]
async fn what_is_not_ones_own_is_not_there_and_bad_input_gets_a_sentence() {
    let scene = Scene::start().await;
    let (app, anna, ben) = (&scene.app, &scene.anna, &scene.ben);
    let bens = app.signed_in(ben).await;
    let (lead, alone) = (agent_id(app, anna, "lead").await.0, agent_id(app, anna, "alone").await.0);
    let crew = agent_id(app, ben, "crew").await.0;
    let tie = scene.join().await.0.to_string();
    let cleos = app.signed_in(&app.user("cleo").await).await;
    for (browser, agent, fields) in [
        (&bens, lead, vec![("action", "invite")]),
        (&bens, lead, vec![("action", "add"), ("member", "1")]),
        (&bens, crew, vec![("action", "add"), ("member", &*lead.to_string())]),
        (&cleos, lead, vec![("action", "leave"), ("tie", &tie)]),
        (&cleos, crew, vec![("action", "leave"), ("tie", &tie)]),
    ] {
        assert_eq!(act(browser, agent, &fields).await.0, 404, "{agent} {fields:?}");
    }
    let annas = app.signed_in(anna).await;
    for (fields, words) in [
        (vec![("action", "dance")], "use the page"),
        (vec![("action", "add"), ("member", &*lead.to_string())], "does not join its own team"),
    ] {
        let (status, page) = act(&annas, lead, &fields).await;
        assert!(status == 422 && page.contains(words), "{words}: {status} {page}");
    }
    let add = [("action", "add"), ("member", &*alone.to_string())];
    assert_eq!(act(&annas, lead, &add).await.0, 200);
    for _ in 0..20 {
        invite(&annas, lead).await;
    }
    let (status, page) = act(&annas, lead, &[("action", "invite")]).await;
    let words = "20 invitations to this team are open";
    assert!(status == 422 && page.contains(words), "{status} {page}");
    assert_eq!(hits(ben, "boat").await.len(), 2, "nothing of it has changed anything");
}
