//! Teams in the browser: invitations, joining, removing.

use super::{Scene, agent_id, hits};
use crate::support::Browser;

/// The path of the invitation on the page.
async fn invite(browser: &Browser, agent: i64) -> String {
    let answer = browser.post(&format!("/agents/{agent}/team"), &[("action", "invite")]).await;
    assert_eq!(answer.status(), 200);
    let page = answer.text().await.unwrap();
    let at = page.find("/team/").expect("a link");
    page[at..at + "/team/".len() + 64].to_owned()
}

#[tokio::test]
async fn an_invitation_is_handed_on_accepted_once_and_taken_back() {
    let scene = Scene::start().await;
    let (app, anna, ben) = (&scene.app, &scene.anna, &scene.ben);
    let (annas, bens) = (app.signed_in(anna).await, app.signed_in(ben).await);
    let lead = agent_id(app, anna, "lead").await.0;
    let crew = agent_id(app, ben, "crew").await.0.to_string();
    let link = invite(&annas, lead).await;
    let (status, page) = annas.get("/agents").await;
    assert!(status == 200 && !page.contains(&link), "shown once");
    assert!(page.contains("1 invitation is open."), "{page}");

    let (status, _) = app.browser().get(&link).await;
    assert_eq!(status, 303, "whoever opens it signs in first");
    let page = bens.look(&link).await;
    assert!(
        page.contains("anna@example.com") && page.contains("lead") && page.contains("crew"),
        "{page}"
    );
    let refused = bens.post(&link, &[("member", "999999")]).await;
    assert_eq!(refused.status(), 422);
    assert!(refused.text().await.unwrap().contains("is no agent of yours"));
    let joined = bens.post(&link, &[("member", &crew)]).await;
    assert_eq!(joined.status(), 303);
    assert_eq!(hits(ben, "boat").await.len(), 2);
    // Used up.
    assert_eq!(bens.get(&link).await.0, 404);
    assert_eq!(bens.post(&link, &[("member", &crew)]).await.status(), 404);

    let (_, page) = bens.get("/agents").await;
    assert!(page.contains("member of lead's team") && page.contains("anna@example.com"), "{page}");
    let (_, page) = annas.get("/agents").await;
    assert!(page.contains("leads 1") && page.contains("ben@example.com"), "{page}");
    assert!(page.contains("It has 1 memory of its own."), "{page}");

    // In one team at a time; the link is still good for another agent.
    let second = invite(&annas, lead).await;
    let refused = bens.post(&second, &[("member", &crew)]).await;
    assert_eq!(refused.status(), 422);
    assert!(refused.text().await.unwrap().contains("in a team already"));
    let lead_itself = annas.post(&second, &[("member", &lead.to_string())]).await;
    assert_eq!(lead_itself.status(), 422);
    let taken = annas.post(&format!("/agents/{lead}/team"), &[("action", "take_back")]).await;
    assert_eq!(taken.status(), 200);
    assert_eq!(bens.get(&second).await.0, 404);

    // After a week it leads nowhere.
    let third = invite(&annas, lead).await;
    app.clock.advance(time::Duration::days(8));
    let bens = app.signed_in(ben).await;
    assert_eq!(bens.get(&third).await.0, 404);
    assert_eq!(bens.post(&third, &[("member", &crew)]).await.status(), 404);

    let tie = app.accounts.teams(ben.id).await.unwrap().memberships[0].id.0.to_string();
    let left =
        bens.post(&format!("/agents/{crew}/team"), &[("action", "leave"), ("tie", &tie)]).await;
    assert_eq!(left.status(), 200);
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
        let answer = browser.post(&format!("/agents/{agent}/team"), &fields).await;
        assert_eq!(answer.status(), 404, "{agent} {fields:?}");
    }
    let annas = app.signed_in(anna).await;
    for (fields, status, words) in [
        (vec![("action", "dance")], 422, "use the page"),
        (
            vec![("action", "add"), ("member", &*lead.to_string())],
            422,
            "does not join its own team",
        ),
    ] {
        let answer = annas.post(&format!("/agents/{lead}/team"), &fields).await;
        assert_eq!(answer.status(), status);
        assert!(answer.text().await.unwrap().contains(words), "{words}");
    }
    let add = [("action", "add"), ("member", &*alone.to_string())];
    let answer = annas.post(&format!("/agents/{lead}/team"), &add).await;
    assert_eq!(answer.status(), 200);
    for _ in 0..20 {
        invite(&annas, lead).await;
    }
    let answer = annas.post(&format!("/agents/{lead}/team"), &[("action", "invite")]).await;
    assert_eq!(answer.status(), 422);
    assert!(answer.text().await.unwrap().contains("20 invitations to this team are open"));
    assert_eq!(hits(ben, "boat").await.len(), 2, "nothing of it has changed anything");
}
