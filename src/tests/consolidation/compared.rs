//! What agents add under no key is compared with what is held: by a model, or without one by rules.

use keepsake::consolidation::ComparedItems;
use serde_json::json;
use time::Duration;

use super::{active, finding, items, told, user_of, user_says};
use crate::support::{ChatServer, TestApp, refused};

/// What was added before, what comes, and what is still told.
const WITHOUT_A_MODEL: &[(&[&str], &[&str])] = &[
    (&["I live in Graz.", "The user lives in Linz."], &["The user lives in Linz."]),
    (
        &["Der Nutzer wohnt in Graz", "Der Nutzer wohnt jetzt in Linz", "Der Nutzer wohnt in Graz"],
        &["Der Nutzer wohnt in Graz"],
    ),
    (&["用户住在格拉茨。", "用户现在住在林茨。"], &["用户现在住在林茨。"]),
    // Of whom it is does not stand there, and they stand in two themes.
    (&["Lives in Graz.", "Lives in Linz."], &["Lives in Graz.", "Lives in Linz."]),
    (&["اسم المستخدم آنا", "اسم المستخدم ليلى"], &["اسم المستخدم ليلى"]),
    // Not of the same, not of one at a time, or no other value.
    (
        &["Lives in Graz.", "Her sister lives in Linz."],
        &["Lives in Graz.", "Her sister lives in Linz."],
    ),
    (&["Likes Graz.", "Likes Linz."], &["Likes Graz.", "Likes Linz."]),
    (&["Lives in Graz", "Lives in Graz, Austria"], &["Lives in Graz", "Lives in Graz, Austria"]),
];

#[tokio::test]
async fn without_a_model_a_second_home_or_name_ends_the_first() {
    let app = TestApp::start().await;
    for (n, (added, left)) in WITHOUT_A_MODEL.iter().enumerate() {
        let user = app.user(&format!("user{n}")).await;
        for (at, content) in added.iter().enumerate() {
            user.add_to(&format!("theme{at}"), content).await;
            app.drain(&user).await;
            app.run_job("compare").await;
            app.clock.advance(Duration::minutes(1));
        }
        assert_eq!(active(&app, &user).await, *left, "{added:?}");
    }
    // A later guess ends an earlier one, and the person's word ends both.
    let user = app.user("anna").await;
    let held = user.add_to("profile", "Her studio is in Graz.").await;
    for (session, said) in [
        ("one", "I live in Graz."),
        ("two", "I now live in Linz. I prefer tea."),
        ("three", "Remember that I live in Wels."),
    ] {
        told(&user, session, &[user_says("m1", said)]).await;
        app.run_job("extract").await;
        app.drain(&user).await;
        app.clock.advance(Duration::minutes(1));
    }
    let left = ["Her studio is in Graz.", "I prefer tea.", "Remember that I live in Wels."];
    assert_eq!(active(&app, &user).await, left);
    let all = items(&app, &user).await;
    let of = |content: &str| all.iter().find(|item| item["content"] == content).unwrap();
    let (graz, linz) = (of("I live in Graz."), of("I now live in Linz."));
    assert_eq!((&graz["superseded_by"], &of(left[0])["id"]), (&linz["id"], &json!(held)));
}

#[tokio::test]
async fn a_model_says_what_an_added_memory_contradicts_and_nothing_added_is_lost() {
    let app = TestApp::start_with_builtin().await;
    let model = finding(json!([]), "contradicts").await;
    let user = user_of(&app, "anna", &model).await;
    let said =
        json!({ "type": "fact", "content": "Bakes bread in a bakery in Wels.", "theme": "work" });
    let proven = user.call("memory_add", said).await["id"].clone();
    app.confirm(&user, proven.as_i64().unwrap()).await;
    let older = user.add_to("job", "Works as a baker in Graz.").await;
    app.drain(&user).await;
    app.run_job("compare").await;
    app.clock.advance(Duration::minutes(1));
    let newer = user.add_to("life", "Is a baker in Linz these days.").await;
    app.drain(&user).await;
    app.run_job("compare").await;
    let all = items(&app, &user).await;
    let of = |id: i64| all.iter().find(|item| item["id"] == id).unwrap();
    assert_eq!(of(older)["superseded_by"], newer, "{all:?}");
    // What is confirmed stays, and so does what was added against it.
    let left = ["Bakes bread in a bakery in Wels.", "Is a baker in Linz these days."];
    assert_eq!(active(&app, &user).await, left);
    let asked = model.asked().len();
    app.run_job("compare").await;
    assert_eq!(model.asked().len(), asked, "each is compared once");
}

#[tokio::test]
async fn a_model_that_does_not_answer_is_waited_for() {
    let app = TestApp::start_with_builtin().await;
    let model = ChatServer::answering(|_, _| refused(500, "down")).await;
    let user = user_of(&app, "anna", &model).await;
    user.add_to("home", "Lives in Graz.").await;
    user.add_to("home", "Lives in Linz.").await;
    app.drain(&user).await;
    let consolidation = app.consolidation.clone();
    assert_eq!(consolidation.compare_some(user.id).await.unwrap(), ComparedItems::NoAnswer);
    assert_eq!(active(&app, &user).await.len(), 2);
    app.clock.advance(Duration::days(4));
    consolidation.compare_some(user.id).await.unwrap();
    assert_eq!(active(&app, &user).await, ["Lives in Linz."]);
}
