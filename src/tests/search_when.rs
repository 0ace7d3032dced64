//! What is asked of a time: named in the query's words, given as `time`, and in a listing by date. And what is asked of many
//! sides, and of nothing that is there.

use keepsake::clock::Clock;
use keepsake::embedding::Drained;
use keepsake::memories::ItemId;
use keepsake::search::RawQuery;
use serde_json::{Value, json};
use time::macros::format_description;
use time::{Duration, OffsetDateTime};

use crate::scopes::agent;
use crate::search_hybrid::{ask_with, embedded, found};
use crate::support::{TestApp, TestUser, ids};

/// The memory of a lunch every thirty days, the newest a minute ago; ids, the oldest first.
async fn lunches(app: &TestApp, user: &TestUser) -> Vec<i64> {
    let mut all = Vec::new();
    for n in 0..60 {
        app.clock.advance(Duration::days(30));
        all.push(user.add(&format!("Lunch with Tom, the {n}th")).await);
    }
    app.clock.advance(Duration::minutes(1));
    all
}

fn day_of(at: OffsetDateTime) -> String {
    let day = format_description!("[year]-[month]-[day]");
    at.format(day).unwrap()
}

async fn first(user: &TestUser, input: Value) -> (i64, Value) {
    let answer = user.call("memory_search", input).await;
    (ids(&answer)[0], answer)
}

#[tokio::test]
async fn what_was_said_in_the_time_that_a_question_names_or_that_is_given_before_it_comes_first() {
    let (app, anna) = TestApp::start_for("anna").await;
    let all = lunches(&app, &anna).await;
    // Without a time the newest of equal ones, and nothing is told of a time.
    let (newest, answer) = first(&anna, json!({ "query": "lunch with Tom" })).await;
    assert_eq!((newest, answer.get("time")), (all[59], None));
    // The forty-first of sixty is among the best of its time, not of all.
    let day = |ago: i64| day_of(app.clock.now() - Duration::days(ago * 30));
    let asked = day(19);
    for query in
        [format!("lunch with Tom on {asked}"), format!("Mittagessen lunch mit Tom am {asked}")]
    {
        let input = json!({ "query": query, "explain": true });
        let (then, answer) = first(&anna, input).await;
        assert_eq!(then, all[40], "{query}");
        let best = &answer["results"][0];
        assert_eq!(best["explain"]["time"], 0.6);
        assert_eq!(answer["time"]["from"], format!("{asked}T00:00:00Z"));
        // What was said half a year later has nothing of it.
        let rows = answer["results"].as_array().unwrap();
        let later = rows.iter().find(|row| row["id"] == all[41]);
        let counts = later.and_then(|row| row["explain"]["time"].as_f64());
        assert!(counts.is_none_or(|time| time < 0.01));
    }
    // An open side: nothing after it counts less.
    let before = format!("lunch before {}", day(57));
    let (then, answer) = first(&anna, json!({ "query": before })).await;
    assert_eq!((then, &answer["time"]["from"]), (all[1], &Value::Null));

    // A time that is given goes before the words.
    let time = json!({ "from": day(10), "until": day(10) });
    let query = format!("lunch on {}", day(20));
    let (then, _) = first(&anna, json!({ "query": query, "time": time })).await;
    assert_eq!(then, all[49]);
    // By date it is a filter, and goes on where it ended.
    let time = json!({ "from": day(12), "until": day(8) });
    let mut input = json!({ "query": "*", "limit": 3, "time": time });
    let answer = anna.call("memory_search", input.clone()).await;
    assert_eq!(ids(&answer), [all[51], all[50], all[49]]);
    assert_eq!(answer["confidence"], Value::Null);
    input["cursor"] = answer["cursor"].clone();
    let answer = anna.call("memory_search", input).await;
    assert_eq!((ids(&answer), &answer["cursor"]), (vec![all[48], all[47]], &Value::Null));
    // Nothing in it is no time at all.
    let empty = json!({ "query": "lunch", "time": { "from": "" } });
    assert_eq!(first(&anna, empty).await.0, all[59]);
    for (time, code, field) in [
        (json!({ "from": "soon" }), "invalid_date", "time.from"),
        (json!({ "until": "12345" }), "invalid_date", "time.until"),
        (json!({ "from": "2024", "until": "2023" }), "invalid_period", "time.until"),
    ] {
        let input = json!({ "query": "lunch", "time": time });
        let (status, problem) = anna.refused("memory_search", input).await;
        let told = (status, &problem["code"], &problem["field"]);
        assert_eq!(told, (422, &json!(code), &json!(field)), "{problem}");
    }
    for time in [json!([null, null]), json!("2024")] {
        let input = json!({ "query": "lunch", "time": time });
        assert_eq!(anna.refused("memory_search", input).await.0, 422, "{time}");
    }
}

#[tokio::test]
async fn before_the_move_is_by_when_the_memory_tells_of_it() {
    let (app, anna) = TestApp::start_for("anna").await;
    let other = agent(&app, &anna, "other", "own_only").await;
    let all = lunches(&app, &anna).await;
    let (began, now) = (all[0], app.clock.now());
    let ask = |query: &str| json!({ "query": query });
    let lunch = |answer: &Value| ids(answer).into_iter().find(|id| all.contains(id));
    // Nothing tells of it yet.
    let (then, answer) = first(&anna, ask("lunch with Tom before the move")).await;
    assert_eq!((then, answer.get("time")), (all[59], None));
    let moved = json!({ "type": "fact", "theme": "homes", "content": "The move to Bergen was easy",
                        "valid_from": day_of(now - Duration::days(39 * 30)) });
    anna.call("memory_add", moved).await;
    for query in ["lunch with Tom before the move", "Mittagessen lunch mit Tom vor dem move"] {
        let answer = anna.call("memory_search", ask(query)).await;
        assert_eq!(lunch(&answer), Some(all[20]), "{query}");
        let until = format!("{}T00:00:00Z", day_of(now - Duration::days(39 * 30 - 1)));
        assert_eq!(answer["time"], json!({ "from": null, "until": until }));
    }
    let answer = anna.call("memory_search", ask("lunch with Tom since the move")).await;
    assert_eq!(lunch(&answer), Some(all[59]));
    assert_eq!(answer["time"]["until"], Value::Null);
    // A date goes before it.
    let dated = format!("lunch on {} after the move", day_of(now - Duration::days(30)));
    let answer = anna.call("memory_search", ask(&dated)).await;
    assert_eq!(lunch(&answer), Some(all[58]));
    // What an agent does not see tells it nothing.
    other.add("Lunch with Tom at the harbour").await;
    let answer = other.call("memory_search", ask("lunch before the move")).await;
    assert_eq!((ids(&answer).contains(&began), answer.get("time")), (false, None));
}

#[tokio::test]
async fn an_event_is_known_in_languages_without_articles() {
    let app = TestApp::start().await;
    let then = app.clock.now() - Duration::days(300);
    for (n, (told, before, after)) in [
        ("Свадьба была в Риге", "Где мы жили до свадьбы?", "Где мы жили после свадьбы?"),
        ("Весілля було у Львові", "Де ми жили до весілля?", "Де ми жили після весілля?"),
        ("Ślub był w Opolu", "Gdzie mieszkaliśmy przed ślubem?", "Gdzie mieszkaliśmy po ślubie?"),
        ("Düğün Bursa'da oldu", "Düğünden önce neredeydik?", "Düğünden sonra neredeydik?"),
        ("हमारी शादी जयपुर में हुई", "शादी से पहले हम कहाँ थे?", "शादी के बाद हम कहाँ थे?"),
        ("كان الزفاف في عمان", "أين كنا نسكن قبل الزفاف؟", "أين كنا نسكن بعد الزفاف؟"),
        ("我们搬家到苏州了", "搬家之前我们住在哪里？", "我们搬家后住在哪里？"),
        (
            "京都へ引っ越しをした",
            "引っ越しの前はどこにいましたか？",
            "引っ越しの後はどこにいましたか？",
        ),
        ("대전으로 이사를 했다", "이사 전에 어디 살았어?", "이사 후에 어디 살았어?"),
    ]
    .into_iter()
    .enumerate()
    {
        let user = app.user(&format!("user-{n}")).await;
        let event = json!({ "type": "fact", "content": told, "valid_from": day_of(then) });
        user.call("memory_add", event).await;
        let midnight = |day| json!(format!("{}T00:00:00Z", day_of(day)));
        for (query, time) in [
            (before, json!({ "from": null, "until": midnight(then + Duration::days(1)) })),
            (after, json!({ "from": midnight(then), "until": null })),
        ] {
            let answer = user.call("memory_search", json!({ "query": query })).await;
            assert_eq!(answer["time"], time, "{query}");
        }
    }
}

#[tokio::test]
async fn the_event_is_one_that_the_search_may_find() {
    let (app, anna) = TestApp::start_for("anna").await;
    let add = async |content: &str, field: &str, value: Value| {
        let item = json!({ "type": "fact", "theme": "homes", "content": content, field: value });
        anna.call("memory_add", item).await;
    };
    add("The move to Porto", "tags", json!(["south"])).await;
    let porto = app.clock.now();
    app.clock.advance(Duration::days(400));
    let between = day_of(app.clock.now());
    app.clock.advance(Duration::days(400));
    let oslo = app.clock.now() - Duration::days(30);
    add("The move to Oslo", "valid_from", json!(day_of(oslo))).await;
    let query = "Where did we live before the move?";
    let raw = RawQuery { query, ..RawQuery::default() };
    let tagged = RawQuery { tag: Some("south"), ..raw };
    for (raw, moved) in [(raw, oslo), (tagged, porto)] {
        let time = ask_with(&app, &anna, None, raw).await.time.unwrap();
        assert_eq!(time.until.map(day_of), Some(day_of(moved + Duration::days(1))));
    }
    for (input, moved) in [
        (json!({ "query": query }), oslo),
        (json!({ "query": query, "as_of": between }), porto),
        (json!({ "query": query, "at": between }), porto),
    ] {
        let answer = anna.call("memory_search", input.clone()).await;
        let until = format!("{}T00:00:00Z", day_of(moved + Duration::days(1)));
        assert_eq!(answer["time"]["until"], until, "{input}");
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_is_true_since_then_counts_too() {
    let (_, anna) = TestApp::with_user().await;
    let mut all = Vec::new();
    for year in 2001..2021 {
        let fact = json!({
            "type": "fact", "theme": "homes", "content": format!("Lives in house {}", year - 2000),
            "valid_from": year.to_string(),
        });
        let added = anna.call("memory_add", fact).await;
        all.push(added["id"].as_i64().unwrap());
    }
    let (then, _) = first(&anna, json!({ "query": "which house in 2007?" })).await;
    assert_eq!(then, all[6]);
}

#[tokio::test]
async fn of_many_things_that_are_asked_for_the_first_are_of_many_sides() {
    let (app, anna) = TestApp::start_for("anna").await;
    // Twelve memories that say the same, and three others on another side of what is asked, a little farther from it.
    let (mut items, mut others) = (vec![(anna.add("far").await, 90.0)], Vec::new());
    for n in 0..12 {
        items.push((anna.add(&format!("copy {n}")).await, 25.0));
    }
    for (n, degrees) in [-26.0, -27.0, -28.0].into_iter().enumerate() {
        others.push(anna.add(&format!("other {n}")).await);
        items.push((others[n], degrees));
    }
    let space = embedded(&app, &anna, &items).await;
    let ask = |query: &'static str| {
        let raw = RawQuery { query, limit: Some(10), ..RawQuery::default() };
        ask_with(&app, &anna, Some(space), raw)
    };
    let others_in = |ids: Vec<i64>| others.iter().filter(|id| ids.contains(id)).count();
    assert_eq!(others_in(found(&ask("xyzzy").await)), 0);
    let page = ask("xyzzy all of them").await;
    assert!(others_in(found(&page)) > 0);
    // The nearest is the first all the same, and nothing is lost or twice.
    assert!(page.hits.iter().all(|hit| hit.score <= page.hits[0].score));
    let mut ids: Vec<ItemId> = page.hits.iter().map(|hit| hit.item.id).collect();
    ids.sort_unstable_by_key(|id| id.0);
    ids.dedup();
    assert_eq!(ids.len(), 10);
}

#[tokio::test]
async fn an_answer_says_how_sure_it_is_and_when_it_is_probably_not_there() {
    let app = TestApp::start_with_builtin().await;
    let anna = app.user("anna").await;
    anna.add("The boat to Bergen leaves on Friday at nine").await;
    anna.add("Tom keeps bees").await;
    let ask = async |query: &str| anna.call("memory_search", json!({ "query": query })).await;
    let confidence = |answer: &Value| answer["confidence"].as_f64().unwrap();
    // By words alone nothing is said, unless there is nothing.
    let porto = "Which dentist in Porto is open on Friday evenings?";
    let by_words = ask(porto).await;
    assert_eq!((&by_words["mode"], by_words.get("note")), (&json!("fts"), None));
    let nothing = ask("xyzzy").await;
    assert_eq!((confidence(&nothing), &nothing["note"]), (0.0, &json!("probably not in memory")));
    assert_eq!(app.drain(&anna).await, Drained::Done);
    let (sure, unsure) = (ask("When does the boat to Bergen leave?").await, ask(porto).await);
    assert!(confidence(&sure) > 0.5, "{sure}");
    assert!(confidence(&unsure) < 0.25, "{unsure}");
    assert_eq!(sure.get("note"), None);
    assert_eq!(unsure["note"], "probably not in memory");
    // What is asked of one is not answered by what another does; words of time say nothing of what.
    for n in 0..6 {
        anna.add(&format!("Marta: I cooked soup number {n} in a copper pot")).await;
        anna.add(&format!("Peter: The tram number {n} was late")).await;
    }
    assert_eq!(app.drain(&anna).await, Drained::Done);
    let of_marta = ask("What did Marta cook in May 2031 in the copper pot?").await;
    let of_peter = ask("What did Peter cook in May 2031 in the copper pot?").await;
    assert!(confidence(&of_marta) > 0.7, "{of_marta}");
    assert!(confidence(&of_peter) < 0.3, "{of_peter}");
    // In any language, what is there is not said to be absent.
    let ben = app.user("ben").await;
    for note in [
        "Works at Siemens",
        "The spare key is under the third flowerpot",
        "The cat gets fed twice a day",
        "Anna drinks green tea in the morning",
        "Die Heizung im Haus fällt seit Montag aus",
        "Der Hausmeister kommt nie vor zehn",
        "+41 79 123 45 67 is the plumber",
        "奶奶的生日是三月五日",
        "我们每个星期六去游泳",
    ] {
        ben.add(note).await;
    }
    assert_eq!(app.drain(&ben).await, Drained::Done);
    for query in [
        "Who is the user's employer?",
        "猫一天喂几次？",
        "¿Qué bebe Anna por la mañana?",
        "ماذا تشرب آنا في الصباح؟",
        "Was ist mit der Heizung?",
        "+41791234567",
        "奶奶什么时候过生日？",
        "When is grandmother's birthday?",
    ] {
        let answer = ben.call("memory_search", json!({ "query": query })).await;
        assert_eq!(answer.get("note"), None, "{query}: {answer}");
    }
}

#[tokio::test]
async fn the_page_says_which_time_it_went_by_and_that_nothing_answers() {
    let app = TestApp::start_with_builtin().await;
    let anna = app.user("anna").await;
    anna.add("Lunch with Tom in the garden").await;
    assert_eq!(app.drain(&anna).await, Drained::Done);
    let browser = app.signed_in(&anna).await;
    for (query, said) in [
        ("lunch+with+Tom+in+May+2023", "Memories from 1 May 2023 to 31 May 2023 rank higher."),
        ("lunch+with+Tom+before+2023-05-07", "Memories until 6 May 2023 rank higher."),
        ("which+submarine+sank+the+ferry", "Probably not in memory: no result matches well."),
    ] {
        let page = browser.look(&format!("/memory?q={query}")).await;
        assert!(page.contains(said), "{query}: {page}");
    }
    let page = browser.look("/memory?q=lunch+with+Tom").await;
    assert!(!page.contains("rank higher") && !page.contains("Probably not in memory"));
}
