//! What nobody uses gets weaker and is archived at night; what is used, confirmed or kept is not; nothing is lost by it.

use serde_json::{Value, json};
use time::Duration;

use super::Place;
use crate::data::{export, import, records};
use crate::pages::assert_has;
use crate::support::Sql as _;
use crate::support::{TestApp, TestUser, ids};

const PAGE: &str = "/settings/fading";

/// Four in the morning, some days on; Anna signs in again.
async fn night_after(place: &Place, days: i64) {
    let now = place.app.embeddings.now();
    let day = now.replace_time(time::Time::from_hms(4, 1, 0).unwrap()) + Duration::days(days);
    place.app.clock.advance(day - now);
    place.browser.sign_in(&place.anna).await;
}

async fn get(user: &TestUser, id: i64) -> Value {
    user.call("memory_get", json!({ "item_id": id })).await
}

/// Of an item, as it is kept: how often it was used, and how many seconds ago.
async fn uses(app: &TestApp, id: i64) -> Option<(i64, f64)> {
    app.activity.flush().await.unwrap();
    let row = app.sql("SELECT access_count, last_accessed FROM memory_uses WHERE item_id = $1");
    let row: Option<(i64, time::OffsetDateTime)> = row.bind(id).maybe_row().await;
    row.map(|(count, last)| (count, (app.embeddings.now() - last).as_seconds_f64()))
}

async fn revision(app: &TestApp, user: &TestUser) -> i64 {
    let revision = app.sql("SELECT revision FROM memory_revisions WHERE user_id = $1");
    revision.bind(user.id.0).value().await
}

#[tokio::test]
async fn uses_are_counted_beside_the_calls_and_raise_no_revision() {
    let place = Place::start().await;
    let (app, anna) = (&place.app, &place.anna);
    let mut bees = Vec::new();
    for n in 0..7 {
        bees.push(place.fact(&format!("Anna keeps bees, hive {n}.")).await);
    }
    assert_eq!(uses(app, bees[0]).await, None);
    let before = revision(app, anna).await;
    let found = ids(&anna.call("memory_search", json!({ "query": "bees", "limit": 7 })).await);
    let mut counted = Vec::new();
    for id in &found {
        counted.push(uses(app, *id).await.map(|(count, _)| count));
    }
    assert_eq!(counted[..5], [Some(1); 5]);
    assert_eq!(counted[5..], [None; 2]);
    app.clock.advance(Duration::days(2));
    get(anna, found[0]).await;
    assert_eq!(uses(app, found[0]).await, Some((2, 0.0)));
    assert_eq!(revision(app, anna).await, before);
    // Said again and confirmed.
    app.clock.advance(Duration::days(1));
    let row = get(anna, found[1]).await;
    let again = json!({ "type": "fact", "content": row["content"] });
    assert_eq!(anna.call("memory_add", again).await["duplicate"], true);
    anna.call("memory_confirm", json!({ "item_id": found[1] })).await;
    assert_eq!(uses(app, found[1]).await, Some((4, 0.0)), "found, read, said again, confirmed");
    let read = get(anna, found[1]).await;
    assert_eq!(read["access_count"], 4, "what is read now counts a moment later");
    assert_eq!(read["strength"], 1.0, "confirmed");
    // A neighbour who asks for it by its number uses nothing.
    let ben = app.user("ben").await;
    ben.refused("memory_get", json!({ "item_id": found[2] })).await;
    assert_eq!(uses(app, found[2]).await.map(|(n, _)| n), Some(1));
    // What is deleted takes its count along, also one that waits to be written.
    anna.call("memory_get", json!({ "item_id": found[3] })).await;
    app.delete_item(&place.browser, found[3]).await;
    assert_eq!(uses(app, found[3]).await, None);
}

#[tokio::test]
async fn what_is_named_beside_an_entity_is_not_used() {
    let place = Place::start().await;
    let (app, anna) = (&place.app, &place.anna);
    let trip = place.fact("The boat trip of Marta Weber is in May.").await;
    let found = anna.call("memory_entity", json!({ "name": "Marta Weber" })).await;
    assert_eq!(found["items"][0]["id"], trip, "{found}");
    anna.call("memory_graph", json!({ "entity": "Marta Weber" })).await;
    assert_eq!(uses(app, trip).await, None);
    anna.call("memory", json!({ "action": "search", "text": "boat trip" })).await;
    assert_eq!(uses(app, trip).await, Some((1, 0.0)));
}

#[tokio::test]
async fn a_writer_who_holds_an_item_is_never_ended_by_a_count_of_uses() {
    let place = Place::start().await;
    let (app, anna) = (&place.app, &place.anna);
    let bees = place.fact("Anna keeps bees.").await;
    let goats = place.fact("Anna keeps goats.").await;
    for (held, other) in [(bees, goats), (goats, bees)] {
        let mut writer = app.superuser().await;
        let lock = "SELECT FROM memory_items WHERE user_id = $1 AND id = $2 FOR UPDATE";
        writer.sql("BEGIN").run().await;
        writer.sql(lock).bind(anna.id.0).bind(held).run().await;
        for id in [other, held] {
            get(anna, id).await;
        }
        // It does not wait for the writer, who may want what was counted first.
        app.activity.flush().await.unwrap();
        writer.sql(lock).bind(anna.id.0).bind(other).run().await;
        writer.sql("COMMIT").run().await;
    }
    let calls = app.count("activity WHERE tool = 'memory_get'").await;
    assert_eq!(calls, 4, "each call is recorded");
    for id in [bees, goats] {
        assert_eq!(uses(app, id).await, Some((1, 0.0)), "not what was held");
    }
    get(anna, bees).await;
    assert_eq!(uses(app, bees).await, Some((2, 0.0)));
}

#[tokio::test]
async fn at_night_what_nobody_uses_is_archived_and_nothing_that_is_confirmed_kept_or_used() {
    let place = Place::start().await;
    let (app, anna) = (&place.app, &place.anna);
    let other =
        async |content: &str| place.add(json!({ "type": "other", "content": content })).await;
    let idle = other("The kettle is blue.").await;
    let used = other("The tram stops at Freiburg.").await;
    let kept = other("The cellar has a second door.").await;
    let confirmed = other("The cat is called Momo.").await;
    let told = place.add(json!({ "type": "instruction", "content": "Answer in German." })).await;
    let fact = place.fact("The bicycle has 21 gears.").await;
    anna.call("memory_confirm", json!({ "item_id": confirmed })).await;
    let keep = [("action", "keep"), ("item", &kept.to_string())];
    let (_, page) = place.browser.submit(PAGE, &keep).await;
    assert!(page.contains(&format!("Memory {kept} never fades.")), "{page}");

    // 60 days: half as strong. Nothing is written for it.
    let revision_before = revision(app, anna).await;
    app.clock.advance(Duration::days(60));
    let strength = get(anna, idle).await["strength"].as_f64().unwrap();
    assert!((strength - 0.35).abs() < 0.01, "{strength}");
    app.activity.flush().await.unwrap();
    assert_eq!(revision(app, anna).await, revision_before);

    // 300 days on it is weak; what was read 200 days ago is not.
    app.clock.advance(Duration::days(100));
    place.browser.sign_in(anna).await;
    get(anna, used).await;
    app.activity.flush().await.unwrap();
    night_after(&place, 200).await;
    let page = place.browser.look(PAGE).await;
    assert_has(&page, &["1 is archived on the next night", "The kettle is blue."]);
    assert_eq!(app.run_job("fade").await, 1);
    assert_eq!(app.run_job("fade").await, 0, "once a night");
    assert_eq!(place.row(idle).await["status"], "archived");
    for id in [used, kept, confirmed, told, fact] {
        assert_eq!(place.row(id).await["status"], "active", "{id}");
    }
    assert_eq!(place.is_found(idle, "kettle").await, (false, false));
    assert_eq!(anna.call("memory_stats", json!({})).await["faded"], 1);
    assert_eq!(place.events(idle).await.last().unwrap(), &("faded".to_owned(), false));
    place.tells(idle, &["It was not used for a long time, and faded"]).await;

    // One click brings it back, as strong as at first, so that it does not go again the next night.
    assert_has(&place.browser.look(PAGE).await, &["1 memory has faded"]);
    let restore = [("action", "restore"), ("item", &idle.to_string())];
    let (_, page) = place.browser.submit(PAGE, &restore).await;
    assert_has(&page, &[&format!("Memory {idle} is active again."), "Nothing has faded."]);
    assert_eq!(place.is_found(idle, "kettle").await, (true, true));
    night_after(&place, 1).await;
    assert_eq!(app.run_job("fade").await, 0);
    let strength = get(anna, idle).await["strength"].as_f64().unwrap();
    assert!(strength > 0.6, "{strength}");
    assert_eq!(anna.call("memory_stats", json!({})).await["faded"], 0);
}

#[tokio::test]
async fn whoever_was_here_before_or_belongs_to_an_operator_decides_first() {
    let place = Place::start().await;
    let app = &place.app;
    let id = place.add(json!({ "type": "other", "content": "The kettle is blue." })).await;
    place.browser.answers(303, PAGE, &[("action", "off")]).await;
    night_after(&place, 400).await;
    assert_eq!(app.run_job("fade").await, 0);
    let told = "1 would be archived on the next night (every day at 04:00)";
    assert_has(&place.browser.look(PAGE).await, &[told]);
    assert_eq!(place.status(id).await, "active");
    place.browser.answers(303, PAGE, &[("action", "on")]).await;
    assert_eq!(app.run_job("fade").await, 0, "on the next night");
    night_after(&place, 1).await;
    assert_eq!(app.run_job("fade").await, 1);

    // The settings as they were for whoever had an account when fading came: off. An operator's user has no page.
    let of_operator = app.sql(
        "SELECT u.operator_id IS NULL, coalesce(s.is_on, u.operator_id IS NULL) FROM users u
         LEFT JOIN fading_settings s ON s.user_id = u.id ORDER BY u.id",
    );
    assert_eq!(of_operator.rows::<(bool, bool)>().await, [(true, true)]);
    let scopes = [keepsake::accounts::Scope::MemoryRead, keepsake::accounts::Scope::MemoryWrite];
    let token = app.service_token("Acme", &scopes).await;
    let add = reqwest::Client::new()
        .post(format!("{}/api/v1/tools/memory_add", app.base))
        .bearer_auth(&token)
        .header("Keepsake-User", "u-1")
        .json(&json!({ "type": "other", "content": "The kettle is red." }));
    assert_eq!(add.send().await.unwrap().status(), 200);
    night_after(&place, 400).await;
    app.run_job("fade").await;
    let active = "memory_items i JOIN users u ON u.id = i.user_id
         WHERE u.operator_id IS NOT NULL AND i.status = 'active' AND i.theme_id IS NOT NULL";
    assert_eq!(app.count(active).await, 1);
}

#[tokio::test]
async fn half_lives_and_the_threshold_are_settings_of_each_user_and_of_each_memory() {
    let place = Place::start().await;
    let (app, anna) = (&place.app, &place.anna);
    let id = place.fact("Anna keeps bees.").await;
    let save = async |days: &str, threshold: &str| {
        let of_types = [("preference", ""), ("fact", days), ("summary", "90"), ("other", "60")];
        let fields = [&[("action", "save"), ("threshold", threshold)][..], &of_types].concat();
        place.browser.submit(PAGE, &fields).await
    };
    for (days, threshold, said) in [
        ("0", "5", "`fact` is not a number of days"),
        ("1.5", "5", "`fact` is not a number of days"),
        ("36501", "5", "`fact` is not a number of days"),
        ("10", "0", "`threshold` is out of range"),
        ("10", "51", "`threshold` is out of range"),
        ("10", "x", "`threshold` is out of range"),
    ] {
        let (status, page) = save(days, threshold).await;
        assert_eq!(status, 422, "{days} {threshold}");
        let typed = format!("value=\"{days}\"");
        assert_has(&page, &[said, &typed]);
    }
    let (status, page) = save("10", "20").await;
    assert!(status == 200 && page.contains("Saved."), "{page}");
    app.clock.advance(Duration::days(10));
    place.browser.sign_in(anna).await;
    let strength = async || get(anna, id).await["strength"].as_f64().unwrap();
    assert!((strength().await - 0.35).abs() < 0.01);
    // Its own half-life, and back.
    app.activity.flush().await.unwrap();
    for (days, status) in [("0", 422), ("a month", 422), ("1", 303), ("", 303)] {
        place.answers(status, id, &[("action", "half_life"), ("days", days)]).await;
    }
    assert!((strength().await - 0.7).abs() < 1e-9, "it never fades");
    place.tells(id, &["never fades", "Default of its type"]).await;
    place.decide(id, "half_life_by_type").await;
    app.clock.advance(Duration::days(10));
    assert!((strength().await - 0.35).abs() < 0.01, "since it was read");

    // Below 20 percent it goes.
    night_after(&place, 19).await;
    assert_eq!(app.run_job("fade").await, 2, "Berta's too");
    let (_, restored) = place.browser.submit(PAGE, &[("action", "restore_all")]).await;
    assert_has(&restored, &["2 memories are active again."]);
}

#[tokio::test]
async fn a_stranger_and_a_closed_browser_change_nothing() {
    let place = Place::start().await;
    let (app, anna) = (&place.app, &place.anna);
    let id = place.add(json!({ "type": "other", "content": "The kettle is blue." })).await;
    night_after(&place, 400).await;
    app.run_job("fade").await;
    let ben = app.user("ben").await;
    let his = app.signed_in(&ben).await;
    let item = id.to_string();
    for action in ["restore", "keep"] {
        his.answers(404, PAGE, &[("action", action), ("item", &item)]).await;
    }
    assert!(!his.look(PAGE).await.contains("kettle"));
    assert_eq!(place.status(id).await, "archived");
    place.browser.answers(422, PAGE, &[("action", "explode")]).await;
    // An admin closes the browser: what is shown is shown, without buttons.
    app.make_admin(anna).await;
    place.browser.post("/admin/browser", &[("action", "close")]).await;
    let page = place.browser.look(PAGE).await;
    assert!(page.contains("kettle") && !page.contains("value=\"restore\""), "{page}");
    let (status, _) = place.browser.submit(PAGE, &[("action", "restore"), ("item", &item)]).await;
    assert!((400..500).contains(&status), "{status}");
    assert_eq!(place.status(id).await, "archived");
}

#[tokio::test]
async fn strength_ranks_what_is_recalled_and_a_search_that_asks_for_it() {
    let place = Place::start().await;
    let (app, anna) = (&place.app, &place.anna);
    let old = place.fact("The boat to Bergen leaves at nine.").await;
    app.clock.advance(Duration::days(700));
    let new = place.fact("The boat to Bergen leaves at noon.").await;
    // The same words: without more the newer comes first only where scores are equal; make the old one the better match.
    let query = json!({ "query": "boat to Bergen leaves at nine" });
    assert_eq!(ids(&anna.call("memory_search", query).await)[0], old);
    app.clock.advance(Duration::days(700));
    get(anna, new).await;
    app.activity.flush().await.unwrap();
    let query = json!({ "query": "boat to Bergen leaves at nine" });
    assert_eq!(ids(&anna.call("memory_search", query).await)[0], old, "search asks how near it is");
}

#[tokio::test]
async fn an_export_takes_uses_along_and_an_import_counts_as_one() {
    let place = Place::start().await;
    let (app, anna) = (&place.app, &place.anna);
    let read = place.fact("Anna keeps bees.").await;
    let never = place.fact("The bicycle has 21 gears.").await;
    get(anna, read).await;
    app.activity.flush().await.unwrap();
    place.sent(read, &[("action", "half_life"), ("days", "30")]).await;
    let lines = export(app, anna).await;
    let items = records(&lines, "item");
    let of = |id: i64| items.iter().find(|item| item["id"] == id).unwrap().clone();
    assert_eq!([of(read), of(never)].map(|item| item["access_count"].clone()), [1, 0]);
    assert!(of(read)["last_accessed"].is_string() && of(never)["last_accessed"].is_null());
    let rate = of(read)["decay_rate"].as_f64().unwrap();
    assert!((rate - std::f64::consts::LN_2 / 30.0).abs() < 1e-9);

    // Three years later, somewhere else: nothing of it fades in the first night.
    app.clock.advance(Duration::days(1_000));
    let ben = app.user("ben").await;
    let outcome = import(app, &ben, &lines).await;
    assert_eq!((outcome.added, outcome.failed), (3, 0), "{:?}", outcome.problems);
    let rows: Vec<(String, i64, Option<f64>)> = app.sql("SELECT i.content, u.access_count, i.decay_rate FROM memory_items i
         JOIN memory_uses u ON u.user_id = i.user_id AND u.item_id = i.id WHERE i.user_id = $1 ORDER BY i.id").bind(ben.id.0).rows().await;
    assert_eq!(rows.iter().map(|row| row.1).collect::<Vec<_>>(), [0, 1, 0]);
    assert_eq!(rows[1].2, Some(rate));
    let bad = lines.replace("\"access_count\":1", "\"access_count\":-1").replace("bees", "wasps");
    let outcome = import(app, &ben, &bad).await;
    assert!(outcome.problems[0].sentence.contains("`access_count`"), "{:?}", outcome.problems);
}
