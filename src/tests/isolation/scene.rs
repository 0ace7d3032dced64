//! Who takes part, and what an attempt on somebody else's rows must look like.
//!
//! *Anna* owns what is looked for, and so does *customer-42*, a user of the
//! operator *acme*. *Ben*, a member, tries to reach it, as do *rival*, another
//! operator, and strangers. For every name of Anna's (an id, a slug, a cursor)
//! there is one of the same length that never was: both must be answered alike.

use std::time::{Duration, Instant};

use keepsake::accounts::Scope;
use keepsake::embedding::Saved;
use keepsake::providers::settings::EndpointForm;
use regex::Regex;
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};

use crate::consolidation::{told, user_says};
use crate::support::{Browser, ChatServer, Provider, TestApp, TestUser, citus_workers};

/// With this in the environment answers are timed too, as `make check` does.
const TIMES: &str = "KEEPSAKE_TEST_TIMES";
/// Calls of each kind whose medians are compared.
const TIMED_CALLS: usize = 8;
const TIMED_ROUNDS: usize = 6;
/// Generous: two cores may be shared with other tests.
const SLOWER_AT_MOST: f64 = 3.0;
const SLOWER_AT_MOST_MS: f64 = 3.0;

const KEY: &str = "sk-annas-private-key-7f3a";
const CUSTOMER: &str = "customer-42";
/// As Anna's agent calls it, and the customer's too.
const SESSION: &str = "anna-private-session";

/// `{item}` and so on, and what each stands for.
#[derive(Clone)]
pub struct Names(Vec<(&'static str, String)>);

impl Names {
    pub fn fill(&self, template: &str) -> String {
        let mut filled = template.to_owned();
        for (name, value) in &self.0 {
            filled = filled.replace(&format!("{{{name}}}"), value);
        }
        filled
    }

    /// What was sent comes back as its name, whoever's it was; only what the template names.
    fn forget(&self, template: &str, answer: &str) -> String {
        let mut text = answer.to_owned();
        for (name, value) in &self.0 {
            if template.contains(&format!("{{{name}}}")) {
                text = text.replace(value.as_str(), &format!("{{{name}}}"));
            }
        }
        text
    }
}

/// All of an answer but what changes with each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let mut headers: Vec<(String, String)> = response
            .headers()
            .iter()
            // Of each answer its own, whatever was asked.
            .filter(|(name, _)| *name != "date" && *name != "x-request-id")
            .map(|(n, v)| (n.to_string(), String::from_utf8_lossy(v.as_bytes()).into()))
            .collect();
        headers.sort();
        let mut body = response.text().await.unwrap();
        // What is sealed is another each time: an export's signature, a cursor.
        let sealed = Regex::new(r#""(signature|next)":"[\w+/=-]+""#).unwrap();
        body = sealed.replace_all(&body, "SEALED").into_owned();
        let nonce = headers
            .iter()
            .find_map(|(_, value)| value.split("'nonce-").nth(1)?.split('\'').next())
            .map(str::to_owned);
        if let Some(nonce) = nonce {
            body = body.replace(&nonce, "NONCE");
            for (_, value) in &mut headers {
                *value = value.replace(&nonce, "NONCE");
            }
        }
        Self { status, headers, body }
    }

    pub fn forgetting(self, names: &Names, template: &str) -> Self {
        let forget = |text: &str| names.forget(template, text);
        Self {
            status: self.status,
            headers: self.headers.iter().map(|(n, v)| (n.clone(), forget(v))).collect(),
            body: forget(&self.body),
        }
    }

    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(n, _)| n == name);
        found.map_or("", |(_, value)| value)
    }

    fn text(&self) -> String {
        format!("{} {:?} {}", self.status, self.headers, self.body)
    }
}

pub struct Scene {
    pub app: TestApp,
    pub anna: TestUser,
    pub ben: TestUser,
    /// Signed in as Ben.
    pub bens: Browser,
    /// Signed in as an admin.
    pub admins: Browser,
    pub stranger: Browser,
    /// By token; kept, since making one reads every certificate of the machine.
    pub client: Client,
    pub rival: String,
    /// In a team that an agent of Anna's leads, which keeps nothing for itself.
    pub member: TestUser,
    /// That was in it.
    pub former: TestUser,
    pub annas_provider: Provider,
    pub annas: Names,
    pub customers: Names,
    pub nobodys: Names,
    owners: Vec<i64>,
    /// Words that stand in Anna's and the customer's rows and in nobody else's.
    secrets: Vec<String>,
    untouched: Vec<(String, String)>,
}

/// A request, made of whichever names fill its template.
pub type Asking<'a> = &'a dyn Fn(&dyn Fn(&str) -> String) -> RequestBuilder;

impl Scene {
    pub async fn start() -> Self {
        let app = TestApp::start().await;
        spread_ids(&app).await;
        let ben = app.user("ben").await;
        ben.add_to("rowing", "Ben rows.").await;
        Self::with_anna(app, ben).await
    }

    /// Anna comes to an app where Ben is already.
    pub async fn with_anna(app: TestApp, ben: TestUser) -> Self {
        let anna = app.user("anna-private").await;
        let private = "anna-private-agent";
        let anna = anna.with_token(&app.token(anna.id, private, &Scope::ALL, None).await);
        let annas_provider = Provider::start().await;
        app.allow(&annas_provider.host_port()).await;
        let url = annas_provider.url();
        app.save_endpoint(&anna, &url, "anna-private-model", KEY, true).await;
        let chat = ChatServer::saying("The anna-private quokka.").await;
        crate::chat::use_server(&app, &anna, &chat).await;
        crate::chat::ask(&app, &anna).await.unwrap();
        app.activity.keep_queries(anna.id, true).await.unwrap();
        anna.add("We met Zacharias Quokkason of anna-private.").await;
        let file = json!({ "command": "create", "path": "/memories/anna-private.md", "file_text": "A quokka, filed." });
        anna.call("memory_files", file.clone()).await;
        let item = remember(&anna).await;
        app.drain(&anna).await;
        let staged = stage(&app, &anna, &url).await;
        let consolidation = &app.consolidation;
        consolidation.ask_for_summary(anna.id).await.unwrap();
        consolidation.summarize(anna.id).await.unwrap();
        let listed = anna.call("memory_search", json!({ "query": "*", "limit": 1 }));
        let cursor = listed.await["cursor"].as_str().unwrap().to_owned();

        let acme = app.service_token("acme-private", &Scope::ALL).await;
        let rival = app.service_token("rival", &Scope::ALL).await;
        for (token, user) in [(&acme, CUSTOMER), (&rival, "own-user")] {
            let seen = fact("Zacharias Quokkason, seen by acme-private alone");
            post_as(&app, token, user, "tools/memory_add", &seen).await;
        }
        post_as(&app, &acme, CUSTOMER, "tools/memory_files", &file).await;
        let seen = user_says("anna-private-message", "seen by acme-private alone");
        let seen = json!({ "messages": [seen] });
        post_as(&app, &acme, CUSTOMER, &format!("sessions/{SESSION}/messages"), &seen).await;
        let is_customer = "external_id = 'customer-42'";
        let customers = names_of(&app, is_customer, &cursor, &staged, None).await;
        let is_anna = "email = 'anna-private@example.com'";
        let annas = names_of(&app, is_anna, &cursor, &staged, Some(item)).await;
        let nobodys = nobodys(&annas);
        app.activity.flush().await.unwrap();

        let admin = app.user("carla").await;
        app.make_admin(&admin).await;
        let (bens, admins) = (app.signed_in(&ben).await, app.signed_in(&admin).await);
        let stranger = app.browser();
        app.sql(
            "INSERT INTO data_imports (user_id, state, bytes_total, report, started_at, updated_at)
             VALUES ($1, 'done', 1, 'anna-private.md', now(), now())",
        )
        .bind(anna.id.0)
        .run()
        .await;
        let customer: i64 =
            app.sql("SELECT id FROM users WHERE external_id = $1").bind(CUSTOMER).value().await;
        app.token(anna.id, "anna-private-lead", &Scope::ALL, None).await;
        let member = app.user("dora").await;
        let former = app.user("emil").await;
        let leader = (&anna, "anna-private-lead");
        // There are no teams on Citus: the member and the former member are strangers there.
        if citus_workers().is_empty() {
            crate::teams::join(&app, leader, (&member, "agent")).await;
            let tie = crate::teams::join(&app, leader, (&former, "agent")).await;
            let agent = crate::teams::agent_id(&app, &former, "agent").await;
            app.accounts.leave_team(former.id, agent, tie).await.unwrap();
        }
        let words = ["anna-private", "anna_private_key", "acme-private", "quokka", "bergamot"];
        let mut secrets = words.map(str::to_owned).to_vec();
        secrets.extend([KEY, crate::chat::KEY, &anna.token, &acme].map(str::to_owned));
        secrets.extend([annas_provider.host_port(), chat.host_port()]);
        let ids = "item agent token space entity user operator_token session_id document_id import";
        for names in [&annas, &customers] {
            let ids = names.0.iter().filter(|(name, _)| ids.split(' ').any(|id| id == *name));
            secrets.extend(ids.map(|(_, value)| value.clone()).filter(|v| !v.is_empty()));
        }
        let mut scene = Self {
            owners: vec![anna.id.0, customer],
            untouched: Vec::new(),
            app,
            anna,
            ben,
            bens,
            admins,
            stranger,
            client: Client::new(),
            rival,
            member,
            former,
            annas_provider,
            annas,
            customers,
            nobodys,
            secrets,
        };
        scene.untouched = scene.fingerprint().await;
        scene
    }

    /// Of each table: all rows of Anna, of the customer and of their operator.
    async fn fingerprint(&self) -> Vec<(String, String)> {
        let owned: Vec<String> = self.app.sql("SELECT c.oid::regclass::text FROM pg_class c
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'user_id' AND NOT a.attisdropped
             WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 1").values().await;
        assert!(owned.len() >= 9, "{owned:?}");
        let mut tables: Vec<(String, String)> = owned
            .into_iter()
            .map(|table| {
                // That a member has looked is told to Anna.
                let told = if table == "activity" { " AND t.member_user IS NULL" } else { "" };
                (table, format!("t.user_id = ANY (ARRAY{:?}){told}", self.owners))
            })
            .collect();
        let users = format!("t.id = ANY (ARRAY{:?})", self.owners);
        tables.push(("users".to_owned(), users));
        tables.push(("operators".to_owned(), "t.name = 'acme-private'".to_owned()));
        let tokens =
            "t.operator_id = (SELECT id FROM operators WHERE name = 'acme-private')".to_owned();
        tables.push(("service_tokens".to_owned(), tokens));
        let mut prints = Vec::new();
        for (table, condition) in tables {
            let all = format!(
                "SELECT coalesce(string_agg(t::text, E'\\n' ORDER BY t::text), '') FROM {table} t WHERE {condition}"
            );
            let print: String = self.app.sql(all).value().await;
            prints.push((table, print));
        }
        prints
    }

    pub async fn assert_untouched(&self, after: &str) {
        // What waits in memory would otherwise hide what a case did.
        self.app.activity.flush().await.unwrap();
        for (now, then) in self.fingerprint().await.into_iter().zip(&self.untouched) {
            assert_eq!(&now, then, "{after} changed somebody else's {}", now.0);
        }
    }

    /// Those who try, by token: Ben, and an operator for another operator's user.
    pub fn by_token(&self) -> [(&'static str, &str, Option<&'static str>); 4] {
        [
            ("Ben", &self.ben.token, None),
            ("a member of a team", &self.member.token, None),
            ("a former member", &self.former.token, None),
            ("another operator", &self.rival, Some(CUSTOMER)),
        ]
    }

    pub fn assert_tells_nothing(&self, answer: &Answer, to: &str) {
        let text = answer.text();
        for secret in &self.secrets {
            assert!(!tells(&text, secret), "{to} is told {secret}: {text}");
        }
    }

    /// Asks with Anna's names, with the customer's and with names that never were,
    /// each made of the template. All must be answered alike, in status, headers and
    /// body (and in time, where [`TIMES`] is set), and nothing may be told. Returns how.
    pub async fn assert_alike(&self, who: &str, template: &str, ask: Asking<'_>) -> Answer {
        let send = async |names: &Names| answered(names, template, ask).await;
        let never = send(&self.nobodys).await;
        for (whose, names) in [("Anna's", &self.annas), ("the customer's", &self.customers)] {
            let theirs = send(names).await;
            self.assert_tells_nothing(&theirs, &format!("{who} ({template})"));
            assert_eq!(theirs, never, "{who} sees that {whose} exist: {template}");
        }
        if std::env::var_os(TIMES).is_none() {
            return never;
        }
        // A busy machine only ever adds time: the lowest medians of several rounds tell.
        let (mut theirs, mut none) = (f64::MAX, f64::MAX);
        for _ in 0..TIMED_ROUNDS {
            let round = time_both(&send, &self.annas, &self.nobodys).await;
            (theirs, none) = (theirs.min(round.0), none.min(round.1));
            let (short, long) = (theirs.min(none), theirs.max(none));
            if long <= short * SLOWER_AT_MOST || long - short <= SLOWER_AT_MOST_MS {
                return never;
            }
        }
        panic!(
            "{who} can tell by the time that a row exists ({theirs:.1} ms, else {none:.1} ms): {template}"
        );
    }
}

/// The answer to what these names ask, which come back as what they stand for.
pub async fn answered(names: &Names, template: &str, ask: Asking<'_>) -> Answer {
    Answer::of(ask(&|text| names.fill(text))).await.forgetting(names, template)
}

/// Medians of both in ms, asked in turns.
async fn time_both(
    send: &impl AsyncFn(&Names) -> Answer,
    annas: &Names,
    nobodys: &Names,
) -> (f64, f64) {
    let (mut taken, mut taken_for_none) = (Vec::new(), Vec::new());
    for turn in 0..TIMED_CALLS {
        for is_hers in [turn % 2 == 0, turn % 2 != 0] {
            let began = Instant::now();
            send(if is_hers { annas } else { nobodys }).await;
            let times = if is_hers { &mut taken } else { &mut taken_for_none };
            times.push(began.elapsed());
        }
    }
    (median_ms(taken), median_ms(taken_for_none))
}

fn median_ms(mut taken: Vec<Duration>) -> f64 {
    taken.sort();
    taken[taken.len() / 2].as_secs_f64() * 1e3
}

fn fact(content: &str) -> Value {
    json!({ "type": "fact", "content": content, "theme": "anna-private-theme" })
}

/// One of everything, and three items, so that listing them needs a cursor.
async fn remember(anna: &TestUser) -> i64 {
    let input = json!({ "type": "fact", "content": "The quokka likes bergamot.",
        "theme": "anna-private-theme", "tags": ["anna-private-tag"] });
    let item = anna.added(input).await;
    for more in ["A second quokka.", "Dr. Oskar Halm feeds the third quokka."] {
        anna.call("memory_add", fact(more)).await;
    }
    let mut keyed = fact("Feeds the quokka at ten.");
    keyed["key"] = json!("anna_private_key");
    anna.call("memory_add", keyed).await;
    anna.call("memory_archive", json!({ "item_id": item })).await;
    anna.find("bergamot").await;
    anna.call("memory_get", json!({ "item_id": item })).await;
    told(anna, SESSION, &[user_says("anna-private-message", "The quokka likes bergamot.")]).await;
    item
}

/// What the form carries while a change waits to be confirmed: a key, sealed.
async fn stage(app: &TestApp, anna: &TestUser, url: &str) -> String {
    let form = EndpointForm {
        own_enabled: true,
        provider_type: "openai",
        url,
        model: "anna-private-other-model",
        key: KEY,
        ..EndpointForm::default()
    };
    match app.embeddings.save(anna.id, &form, false).await.unwrap() {
        Saved::AskFirst { staged, .. } => staged,
        other => panic!("{other:?}"),
    }
}

/// Ids of nine digits, of each kind from another million: none is met by chance.
pub async fn spread_ids(app: &TestApp) {
    let spread = "SELECT setval(format('public.%I', sequencename)::regclass,
                       481000000 + 1000000 * row_number() OVER (ORDER BY sequencename))
         FROM pg_sequences WHERE schemaname = 'public'";
    app.sql(spread).run().await;
}

/// What names Anna's and the customer's, and words as long that name nobody's.
const WORDS: [(&str, &str, &str); 10] = [
    ("theme", "anna-private-theme", "none-private-theme"),
    ("tag", "anna-private-tag", "none-private-tag"),
    ("email", "anna-private@example.com", "none-private@example.com"),
    ("content", "The quokka likes bergamot.", "No quagga drank chamomile."),
    ("word", "quokka", "quagga"),
    ("key", "anna_private_key", "none_private_key"),
    ("person", "Zacharias Quokkason", "Nobodias Quaggamann"),
    ("external", CUSTOMER, "customer-99"),
    ("session", SESSION, "none-private-session"),
    ("document", "anna-private.md", "none-private.md"),
];

/// The newest of each kind that the user has for whom this is true.
async fn names_of(
    app: &TestApp,
    is_user: &str,
    cursor: &str,
    staged: &str,
    item: Option<i64>,
) -> Names {
    let user: i64 = app.sql(format!("SELECT id FROM users WHERE {is_user}")).value().await;
    let mut names = vec![("user", user.to_string())];
    for (name, table) in [
        ("item", "memory_items"),
        ("agent", "agents"),
        ("token", "agent_tokens"),
        ("space", "embedding_spaces"),
        ("entity", "entities"),
        ("session_id", "sessions"),
        ("document_id", "documents"),
        ("import", "data_imports"),
    ] {
        let newest = format!("SELECT max(id) FROM {table} WHERE user_id = $1");
        let id: Option<i64> = app.sql(newest).bind(user).value().await;
        // An operator's user has no tokens; a name of their own stands for them.
        let id = id.filter(|_| name != "item").or(item.filter(|_| name == "item")).or(id);
        names.push((name, id.unwrap_or(481_999_998).to_string()));
    }
    for (name, table) in [("operator", "operators"), ("operator_token", "service_tokens")] {
        let id: i64 = app.sql(format!("SELECT min(id) FROM {table}")).value().await;
        names.push((name, id.to_string()));
    }
    names.extend(WORDS.map(|(name, word, _)| (name, word.to_owned())));
    names.extend([("cursor", cursor.to_owned()), ("staged", staged.to_owned())]);
    Names(names)
}

/// As long, and nobody's.
fn nobodys(annas: &Names) -> Names {
    let never = |name: &str, value: &str| match name {
        // The same moment, an item that never was.
        "cursor" => {
            let (moment, id) = value.split_once('.').unwrap();
            format!("{moment}.{}", id.parse::<i64>().unwrap() + 500_000)
        }
        "staged" => {
            let at = value.len() - 2;
            let other = if value.as_bytes()[at] == b'A' { "B" } else { "A" };
            format!("{}{other}{}", &value[..at], &value[at + 1..])
        }
        _ => match WORDS.iter().find(|(word, ..)| *word == name) {
            Some((.., never)) => (*never).to_owned(),
            None => (value.parse::<i64>().unwrap() + 500_000).to_string(),
        },
    };
    let all = annas.0.iter();
    Names(all.map(|(n, v)| (*n, never(n, v))).collect())
}

/// By a service token, for a user of its operator.
async fn post_as(app: &TestApp, token: &str, user: &str, path: &str, input: &Value) {
    let request = Client::new().post(format!("{}/api/v1/{path}", app.base)).bearer_auth(token);
    let response = request.header("keepsake-user", user).json(input).send().await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
}

/// Whether it stands there; a number not as digits of a longer one, such as a sum of seconds.
fn tells(text: &str, secret: &str) -> bool {
    let is_number = secret.bytes().all(|b| b.is_ascii_digit());
    text.match_indices(secret).any(|(at, _)| {
        let around = [text[..at].bytes().last(), text[at + secret.len()..].bytes().next()];
        !is_number || !around.into_iter().flatten().any(|b| b.is_ascii_digit())
    })
}
