//! What tests stand on: `TestApp::start().await`, then `app.user("anna").await`.
//! Each app has a database of its own, copied from one that was migrated once.

mod chat;
mod due;
mod gate;
mod provider;
pub mod shared;
mod sql;

pub use chat::{ChatServer, refused, said};
pub use due::{DueNow, turns_due};
pub use gate::{Gate, Held, PATIENCE, until};
pub use provider::{Provider, WIDTH, vector_of};
pub use sql::Sql;

use std::cell::RefCell;
use std::io::Write;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keepsake::accounts::{
    Accounts, AgentName, Email, HashCost, Password, Role, Scope, TokenWish, UserId, Viewer,
};
use keepsake::backup::Backups;
use keepsake::clock::{Clock, MovableClock, SharedClock};
use keepsake::config::{MetricsToken, PublicUrl, SignUp, TrustedProxies};
use keepsake::db::actor::READ_ONLY_TEAM;
use keepsake::db::citus::{self, ClusterNode};
use keepsake::db::{self, Db, StatementTimeouts};
use keepsake::embedding::{Drained, EmbeddingError, QUERY_DEADLINE, QueryEmbedding, Saved};
use keepsake::jobs::{self, Runner};
use keepsake::memories::quota::{ITEMS_MAX, ItemQuota};
use keepsake::memories::{self, ItemId, Reconfirmation};
use keepsake::providers::settings::{EndpointForm, EndpointPurpose};
use keepsake::providers::{Embedder, EndpointUrl, SystemNames, builtin};
use keepsake::queue::Slice;
use keepsake::seal::Sealer;
use keepsake::search::Reader;
use keepsake::services::{ServiceParts, Services};
use keepsake::web::{
    AppState, BodyTime, ConnectionLimits, Gate as Door, Readiness, ServerParts, SiteFiles, router,
    serve,
};
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use time::OffsetDateTime;
use time::macros::time;
use tokio::sync::{MappedMutexGuard, MutexGuard, OnceCell, watch};

const READER_BYTES: usize = 64 << 20;
const TEMPLATE: &str = "keepsake_template";
/// How long a test waits for what must come; nothing is asserted to be fast.
pub const HANG_GUARD: Duration = Duration::from_secs(60);
/// When each server's day begins, whenever the tests run: no round of a night comes by chance.
const STARTS_AT: time::Time = time!(10:00);
/// The server closes a connection that was idle for 75 s: a request sent at that moment has no answer.
const KEPT_IDLE: Duration = Duration::from_secs(30);
pub const PASSWORD: &str = "correct horse battery";

/// What an app of a test is to be; nothing by default has a provider.
pub struct Wish {
    pub sign_up: SignUp,
    pub hash_cost: HashCost,
    pub builtin: Option<builtin::BuiltinModels>,
    /// As KEEPSAKE_LLAMACPP_URL.
    pub offered: Option<EndpointUrl>,
    /// As KEEPSAKE_PUBLIC_URL.
    pub public_url: Option<&'static str>,
    /// As KEEPSAKE_METRICS_TOKEN.
    pub metrics_token: Option<&'static str>,
    /// As KEEPSAKE_TRUSTED_PROXIES.
    pub trusted_proxies: Option<&'static str>,
    pub timeouts: StatementTimeouts,
    pub body_time: BodyTime,
    pub items_max: i64,
    /// As KEEPSAKE_READER_MB.
    pub reader_bytes: usize,
    /// As KEEPSAKE_BACKUP_DIR.
    pub backup_dir: Option<PathBuf>,
    /// Another app's database: a second server, or a restart.
    pub database: Option<PgConnectOptions>,
}

impl Default for Wish {
    fn default() -> Self {
        Self {
            sign_up: SignUp::First,
            hash_cost: HashCost { memory_kib: 8, passes: 1 },
            builtin: None,
            offered: None,
            public_url: None,
            metrics_token: None,
            trusted_proxies: None,
            // A busy machine is no reason to fail.
            timeouts: StatementTimeouts {
                request: HANG_GUARD,
                job: HANG_GUARD,
                silence: HANG_GUARD,
            },
            body_time: BodyTime::default(),
            items_max: ITEMS_MAX,
            reader_bytes: READER_BYTES,
            backup_dir: None,
            database: None,
        }
    }
}

pub struct TestApp {
    pub base: String,
    /// The server's. Its activity is written when a test says so ([`Activity::flush`](keepsake::activity::Activity::flush)).
    pub services: Services,
    pub clock: Arc<MovableClock>,
    /// As superuser, for looking behind the scenes.
    pub options: PgConnectOptions,
    own_connection: tokio::sync::Mutex<Option<PgConnection>>,
    is_shared: bool,
    server: tokio::task::JoinHandle<()>,
}

fn sealer() -> Sealer {
    Sealer::new(&[7; 32])
}

fn backups(options: &PgConnectOptions, folder: PathBuf) -> Backups {
    Backups::new(options.clone(), folder, "data".into(), sealer())
}

impl Deref for TestApp {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services
    }
}

impl TestApp {
    pub async fn start() -> Self {
        Self::start_with(SignUp::First).await
    }

    pub async fn start_with(sign_up: SignUp) -> Self {
        Self::start_as(Wish { sign_up, ..Wish::default() }).await
    }

    /// [`Self::shared`], whose database no single test's end drops.
    async fn start_shared() -> Self {
        let database = Some(fresh_database().await);
        MADE.with(|made| made.0.borrow_mut().pop());
        let mut app = Self::start_as(Wish { database, ..Wish::default() }).await;
        app.is_shared = true;
        app
    }

    /// A member with an agent that may read and write, on the shared server.
    pub async fn with_user() -> (&'static Self, TestUser) {
        let app = Self::shared().await;
        (app, app.user("anna").await)
    }

    /// Two of them, on the shared server.
    pub async fn with_users() -> (&'static Self, TestUser, TestUser) {
        let app = Self::shared().await;
        (app, app.user("anna").await, app.user("ben").await)
    }

    /// A server of its own, and a member of this name.
    pub async fn start_for(name: &str) -> (Self, TestUser) {
        let app = Self::start().await;
        let user = app.user(name).await;
        (app, user)
    }

    /// With the real builtin model.
    pub async fn start_with_builtin() -> Self {
        let builtin = Some(builtin::find(&PathBuf::from("data")));
        Self::start_as(Wish { builtin, ..Wish::default() }).await
    }

    pub async fn start_as(wish: Wish) -> Self {
        let sign_up = wish.sign_up;
        let options = match wish.database {
            Some(options) => options,
            None => fresh_database().await,
        };
        let db = Db::with_timeouts(&options, wish.timeouts);
        let clock = MovableClock::at(OffsetDateTime::now_utc().replace_time(STARTS_AT));
        let shared: SharedClock = clock.clone();
        let accounts =
            Accounts::with_hash_cost(db.clone(), shared.clone(), sign_up, wish.hash_cost);
        // A busy machine's builtin model is late, and no test of its searches is about that.
        let query_deadline = wish.builtin.as_ref().map_or(QUERY_DEADLINE, |_| HANG_GUARD);
        let embedder = Embedder::new(wish.builtin, Arc::new(SystemNames), shared.clone());
        let public_url =
            PublicUrl::parse(wish.public_url.map(str::to_owned), "127.0.0.1:3000".parse().unwrap())
                .unwrap();
        let services = Services::new(ServiceParts {
            db,
            clock: shared,
            accounts,
            embedder,
            sealer: sealer(),
            offered: wish.offered,
            query_deadline,
            reader: Reader::new(wish.reader_bytes),
            quota: ItemQuota::of(wish.items_max),
            backups: wish.backup_dir.map(|folder| backups(&options, folder)),
            public_url,
        });
        let parts = ServerParts {
            readiness: Readiness::default(),
            metrics_token: wish.metrics_token.map(MetricsToken::new),
            site: SiteFiles::at(PathBuf::from("target/site"), &services.public_url),
            trusted_proxies: TrustedProxies::parse(wish.trusted_proxies.map(str::to_owned))
                .unwrap(),
            data_dir: uploads_folder(),
        };
        let mut state = AppState::new(services.clone(), parts);
        state.body_time = wish.body_time;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (gate, door) = Door::new(listener, ConnectionLimits::default());
        let server = tokio::spawn(async move {
            let _door = door;
            serve(gate, router(state), std::future::pending()).await;
        });
        Self {
            base,
            services,
            clock,
            options,
            own_connection: tokio::sync::Mutex::default(),
            is_shared: false,
            server,
        }
    }

    /// A member with an agent that may read and write.
    pub async fn user(&self, name: &str) -> TestUser {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = match self.is_shared {
            true => format!("{name}-{}", COUNT.fetch_add(1, Ordering::Relaxed)),
            false => name.to_owned(),
        };
        let email = Email::parse(&format!("{name}@example.com")).unwrap();
        let password = Password::parse_new("password", PASSWORD).unwrap();
        let id = self.accounts.create_user(&email, password, Role::Member).await.unwrap();
        let token = self.token(id, "agent", &Scope::ALL, None).await;
        TestUser {
            base: self.base.clone(),
            id,
            email: email.as_str().to_owned(),
            token,
            client: http_client(),
        }
    }

    pub async fn token(
        &self,
        user: UserId,
        agent: &str,
        scopes: &[Scope],
        lifetime: Option<time::Duration>,
    ) -> String {
        let wish = TokenWish { scopes: scopes.iter().copied().collect(), lifetime, profile: None };
        let name = AgentName::parse(agent).unwrap();
        self.accounts.create_token_by_name(user, &name, &wish).await.unwrap().reveal()
    }

    /// A service token of an operator of this name, which is made when missing.
    pub async fn service_token(&self, operator: &str, scopes: &[Scope]) -> String {
        let wish =
            TokenWish { scopes: scopes.iter().copied().collect(), lifetime: None, profile: None };
        let name = AgentName::parse(operator).unwrap();
        let token = self.accounts.create_service_token_by_name(&name, &wish);
        token.await.unwrap().reveal()
    }

    pub async fn make_admin(&self, user: &TestUser) {
        self.sql("UPDATE users SET role = 'admin' WHERE id = $1").bind(user.id.0).run().await;
    }

    pub fn browser(&self) -> Browser {
        Browser::at(self.base.clone())
    }

    pub async fn signed_in(&self, user: &TestUser) -> Browser {
        let browser = self.browser();
        browser.sign_in(user).await;
        browser
    }

    /// An admin allows this host and port for models.
    pub async fn allow(&self, host_port: &str) {
        self.allow_for(host_port, EndpointPurpose::Models).await;
    }

    pub async fn allow_for(&self, host_port: &str, purpose: EndpointPurpose) {
        self.embeddings.allow_endpoint(host_port, purpose).await.unwrap();
    }

    /// The user's own endpoint is this provider from now on, whatever has to be rebuilt.
    pub async fn use_provider(&self, user: &TestUser, provider: &Provider, model: &str) -> Saved {
        self.allow(&provider.host_port()).await;
        let url = provider.url();
        self.save_endpoint(user, &url, model, "", true).await
    }

    pub async fn save_endpoint(
        &self,
        user: &TestUser,
        url: &str,
        model: &str,
        key: &str,
        confirmed: bool,
    ) -> Saved {
        let form = EndpointForm {
            own_enabled: true,
            provider_type: "openai",
            url,
            model,
            key,
            ..EndpointForm::default()
        };
        let saved = self.embeddings.save(user.id, &form, confirmed).await;
        saved.unwrap()
    }

    /// Saves the form of the user's own endpoint, and confirms what it changes.
    pub async fn confirm_endpoint(&self, user: &TestUser, form: EndpointForm<'_>) -> Saved {
        let form = EndpointForm { own_enabled: true, ..form };
        self.embeddings.save(user.id, &form, true).await.unwrap()
    }

    /// The vector that a search for this would go by, or why there is none.
    pub async fn embed_query(&self, user: &TestUser, text: &str) -> QueryEmbedding {
        self.search.embed_query(user.id, text).await.unwrap()
    }

    /// Works off all that waits for this user, as the jobs would.
    pub async fn drain(&self, user: &TestUser) -> Drained {
        for _ in 0..100 {
            match self.drain_once(user.id).await.unwrap() {
                Drained::More(_) => {}
                ended => return ended,
            }
        }
        panic!("there is always more");
    }

    pub async fn drain_once(&self, user: UserId) -> Result<Drained, EmbeddingError> {
        self.embeddings.drain(user, &Slice::whole()).await
    }

    /// States of the user's rows in the space of this state, by item.
    pub async fn vectors(&self, user: &TestUser, space: &str) -> Vec<(i64, String)> {
        self.sql(
            "SELECT e.source_id, e.state FROM memory_embeddings e
             JOIN embedding_spaces s ON s.user_id = e.user_id AND s.id = e.space_id
             WHERE e.user_id = $1 AND s.state = $2 ORDER BY e.source_id",
        )
        .bind(user.id.0)
        .bind(space)
        .rows()
        .await
    }

    pub fn runner(&self) -> (watch::Sender<bool>, Runner) {
        let (keep, stop) = watch::channel(false);
        (keep, Runner::new(self.services.clone(), stop))
    }

    pub fn shared_clock(&self) -> SharedClock {
        self.clock.clone()
    }

    /// From now on its jobs make backups there, with the programs that tools/with_postgres.py has fetched.
    pub fn back_up_into(&mut self, folder: PathBuf) {
        self.services.backups = Some(backups(&self.options, folder));
    }

    /// Runs all that is due at this moment, the server's own jobs included.
    pub async fn run_due(&self) {
        let (_keep, runner) = self.runner();
        runner.run_due().await.unwrap();
    }

    /// Runs what is due of one job, for all users. Returns how many rows were worked on.
    pub async fn run_job(&self, name: &str) -> u32 {
        let job = jobs::find(name).unwrap();
        jobs::ask_for(job, &self.services.clone(), None).await.unwrap();
        let (_keep, runner) = self.runner();
        let ran = runner.of(&[job], None).run_due().await.unwrap();
        assert_eq!(ran.problem, None);
        ran.done
    }

    /// What is due of users, or will be: whose, and which job.
    pub async fn jobs(&self) -> Vec<(i64, String)> {
        self.sql("SELECT user_id, job FROM job_queue WHERE run_at IS NOT NULL AND user_id <> 0 ORDER BY user_id, job").rows().await
    }

    /// The person confirms the item, as on its page.
    pub async fn confirm(&self, user: &TestUser, item: i64) {
        let call = self.activity.begin(&Viewer::person(user.id), "memory_confirm");
        let clock: SharedClock = self.clock.clone();
        let again = Reconfirmation::Renews;
        memories::confirm(&self.db, &clock, &call, ItemId(item), again).await.unwrap();
    }

    /// The person of this browser deletes the item permanently, and the time for Undo passes. Returns
    /// where the receipt is.
    pub async fn delete_item(&self, browser: &Browser, item: i64) -> String {
        let id = item.to_string();
        let fields = [("action", "delete"), ("item", id.as_str())];
        let asked = browser.post("/data/delete", &fields).await;
        assert_eq!(asked.status(), StatusCode::SEE_OTHER);
        self.clock.advance(time::Duration::seconds(10));
        assert_eq!(self.run_job("delete").await, 1);
        let receipt: String = self.sql("SELECT public_id FROM erasure_receipts WHERE kind = 'item' ORDER BY id DESC LIMIT 1").value().await;
        format!("/erased/{receipt}")
    }

    /// Another server on the same database: a second one, or this one restarted.
    pub async fn twin(&self) -> Self {
        let twin =
            Self::start_as(Wish { database: Some(self.options.clone()), ..Wish::default() }).await;
        // The same time, however long this took: leases are judged by it.
        twin.clock.advance(self.clock.now() - twin.clock.now());
        twin
    }

    /// Until the transaction ends, nobody else changes this user's memory.
    pub async fn hold_memory(conn: &mut PgConnection, user: UserId) {
        conn.sql(
            "INSERT INTO memory_revisions (user_id, revision) VALUES ($1, 1)
             ON CONFLICT (user_id) DO UPDATE SET revision = memory_revisions.revision",
        )
        .bind(user.0)
        .run()
        .await;
    }

    /// Until as many connections to this database wait for a lock that another holds; 0: until none does.
    pub async fn until_blocked(&self, connections: i64) {
        until("connections wait for a lock", async || {
            let now = self.count_on_nodes("cardinality(pg_blocking_pids(pid)) > 0").await;
            if connections == 0 { now == 0 } else { now >= connections }
        })
        .await;
    }

    /// From now on PostgreSQL refuses a row of this table, new or changed, for which the condition is false.
    pub async fn refuse_unless(&self, table: &str, condition: &str) {
        let statement =
            format!("ALTER TABLE {table} ADD CONSTRAINT refuse CHECK ({condition}) NOT VALID");
        self.as_superuser(statement).await;
    }

    pub async fn refuse_no_more(&self, table: &str) {
        self.as_superuser(format!("ALTER TABLE {table} DROP CONSTRAINT refuse")).await;
    }

    async fn as_superuser(&self, statement: String) {
        self.sql(statement).run_all().await;
    }

    /// How many statements wait for a lock that another transaction has.
    pub async fn waiting_for_locks(&self) -> i64 {
        self.count_on_nodes("wait_event_type = 'Lock'").await
    }

    /// Connections to this database; on Citus also those of its workers, which wait for the rows that are there.
    async fn count_on_nodes(&self, condition: &'static str) -> i64 {
        let count = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND {condition}"
        );
        let name = self.options.get_database().unwrap();
        let mut total = 0;
        for node in nodes() {
            let node = node.database(name);
            let mut conn = PgConnection::connect_with(&node).await.unwrap();
            let count = count.clone();
            let on_node: i64 = conn.sql(count).value().await;
            total += on_node;
        }
        total
    }

    /// Tells that the user's memory was changed behind the server's back.
    pub async fn tell_changed(&self, user: &TestUser) {
        self.sql(
            "INSERT INTO memory_revisions (user_id, revision, told_from) VALUES ($1, 1, 1)
             ON CONFLICT (user_id) DO UPDATE SET revision = memory_revisions.revision + 1,
                                                 told_from = memory_revisions.revision + 1",
        )
        .bind(user.id.0)
        .run()
        .await;
    }

    /// The superuser connection of [`Self::sql`], made when it is first asked for.
    async fn own_connection(&self) -> MappedMutexGuard<'_, PgConnection> {
        let mut own = self.own_connection.lock().await;
        if own.is_none() {
            *own = Some(self.superuser().await);
        }
        MutexGuard::map(own, |own| own.as_mut().unwrap())
    }

    /// A connection of the superuser, who sees everything, for a transaction of its own.
    pub async fn superuser(&self) -> PgConnection {
        PgConnection::connect_with(&self.options).await.unwrap()
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        self.server.abort();
    }
}

pub struct TestUser {
    base: String,
    pub id: UserId,
    pub email: String,
    pub token: String,
    client: Client,
}

fn http_client() -> Client {
    Client::builder().pool_idle_timeout(KEPT_IDLE).build().unwrap()
}

impl TestUser {
    /// The same user by another token, on connections of its own.
    pub fn with_token(&self, token: &str) -> Self {
        Self {
            base: self.base.clone(),
            id: self.id,
            email: self.email.clone(),
            token: token.to_owned(),
            client: http_client(),
        }
    }

    /// The same user, as a client of another server.
    pub fn at(&self, server: &TestApp) -> Self {
        Self { base: server.base.clone(), ..self.with_token(&self.token) }
    }

    /// Calls a tool and gives the whole response.
    pub async fn send(&self, tool: &str, input: &Value) -> Response {
        let url = format!("{}/api/v1/tools/{tool}", self.base);
        self.client.post(url).bearer_auth(&self.token).json(input).send().await.unwrap()
    }

    pub async fn post(&self, path: &str, body: &Value) -> Response {
        let request = self.client.post(format!("{}{path}", self.base));
        let request = request.bearer_auth(&self.token).json(body);
        request.send().await.unwrap()
    }

    pub async fn get(&self, path: &str) -> Response {
        let request = self.client.get(format!("{}{path}", self.base));
        request.bearer_auth(&self.token).send().await.unwrap()
    }

    /// Of a body as it is.
    pub async fn post_text(&self, path: &str, body: String) -> Response {
        let request = self.client.post(format!("{}{path}", self.base));
        request.bearer_auth(&self.token).body(body).send().await.unwrap()
    }

    /// What REST answers: the status, and JSON.
    pub async fn request(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let request = self.client.request(method, format!("{}{path}", self.base));
        let request = request.bearer_auth(&self.token);
        let request = match &body {
            Some(body) => request.json(body),
            None => request,
        };
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Calls a tool that must succeed.
    pub async fn call(&self, tool: &str, input: Value) -> Value {
        let response = self.send(tool, &input).await;
        let status = response.status();
        let body: Value = response.json().await.unwrap();
        assert_eq!(status, StatusCode::OK, "{tool} {input}: {body}");
        body
    }

    /// Calls a tool that must be refused: status and problem.
    pub async fn refused(&self, tool: &str, input: Value) -> (u16, Value) {
        problem(self.send(tool, &input).await).await
    }

    pub async fn add(&self, content: &str) -> i64 {
        self.add_to("general", content).await
    }

    pub async fn add_to(&self, theme: &str, content: &str) -> i64 {
        self.added(json!({ "type": "fact", "content": content, "theme": theme })).await
    }

    /// The id of what `memory_add` makes of this input.
    pub async fn added(&self, input: Value) -> i64 {
        self.call("memory_add", input).await["id"].as_i64().unwrap()
    }

    /// The ids a search finds, best first.
    pub async fn find(&self, query: &str) -> Vec<i64> {
        ids(&self.call("memory_search", json!({ "query": query })).await)
    }
}

/// Confirms another model, and goes in small steps towards it.
pub async fn change_model(app: &TestApp, user: &TestUser, provider: &Provider, model: &str) {
    let url = provider.url();
    let form = EndpointForm {
        provider_type: "openai",
        url: &url,
        model,
        batch_size: "6",
        ..EndpointForm::default()
    };
    let saved = app.confirm_endpoint(user, form).await;
    assert!(matches!(saved, Saved::Rebuilding { .. }), "{saved:?}");
}

pub fn ids(answer: &Value) -> Vec<i64> {
    answer["results"].as_array().unwrap().iter().map(|hit| hit["id"].as_i64().unwrap()).collect()
}

/// A refusal must be a problem document with a code and one sentence.
pub async fn problem(response: Response) -> (u16, Value) {
    let status = response.status();
    let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
    let body: Value = response.json().await.unwrap();
    assert!(status.is_client_error() || [503, 507].contains(&status.as_u16()), "{status} {body}");
    assert_eq!(content_type, "application/problem+json");
    assert_eq!(body["status"], status.as_u16());
    let detail = body["detail"].as_str().unwrap();
    let is_said = detail.ends_with(['.', '}']) || detail == READ_ONLY_TEAM;
    assert!(body["code"].is_string() && is_said, "{body}");
    (status.as_u16(), body)
}

/// A page without the comments that Leptos puts beside its parts.
pub fn without_marks(page: &str) -> String {
    page.replace("<!>", "")
}

/// The cookie with what a page tells once, after the redirect that answers a form.
const FLASH: &str = "keepsake-flash=";

/// Whether a form is answered by a redirect to a page that tells how it ended.
pub fn tells_once(answer: &Response) -> bool {
    let mut cookies = answer.headers().get_all("set-cookie").iter();
    answer.status() == StatusCode::SEE_OTHER
        && cookies.any(|cookie| cookie.to_str().is_ok_and(|cookie| cookie.contains(FLASH)))
}

/// A browser with a cookie jar. It follows the redirect to the page that tells how a form ended, and no other.
pub struct Browser {
    pub base: String,
    pub client: Client,
}

impl Browser {
    pub fn at(base: String) -> Self {
        let redirect = reqwest::redirect::Policy::none();
        let client = Client::builder()
            .cookie_store(true)
            .redirect(redirect)
            .pool_idle_timeout(KEPT_IDLE)
            .build()
            .unwrap();
        Self { base, client }
    }

    pub async fn get(&self, path: &str) -> (u16, String) {
        let response = self.client.get(format!("{}{path}", self.base)).send().await.unwrap();
        let status = response.status().as_u16();
        (status, without_marks(&response.text().await.unwrap()))
    }

    /// A page that must be there.
    pub async fn look(&self, path: &str) -> String {
        let (status, page) = self.get(path).await;
        assert_eq!(status, 200, "{path}: {page}");
        page
    }

    /// Posts a form as a browser on one of our pages would.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        let answer = self.post_alone(path, fields).await;
        if !tells_once(&answer) {
            return answer;
        }
        let page = format!("{}{}", self.base, answer.headers()["location"].to_str().unwrap());
        self.client.get(page).send().await.unwrap()
    }

    /// The answer itself, also where it is a redirect to what is told.
    pub async fn post_alone(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        self.client
            .post(format!("{}{path}", self.base))
            .header("sec-fetch-site", "same-origin")
            .form(fields)
            .send()
            .await
            .unwrap()
    }

    pub async fn sign_in(&self, user: &TestUser) {
        let fields = [("email", user.email.as_str()), ("password", PASSWORD)];
        let response = self.post("/login", &fields).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
    }
}

/// Where apps of tests put uploads aside.
pub fn uploads_folder() -> PathBuf {
    std::env::temp_dir().join("keepsake-test-uploads")
}

/// The server that `tools/with_postgres.py` started.
pub fn server_options() -> PgConnectOptions {
    std::env::var("KEEPSAKE_TEST_DATABASE_URL")
        .expect("run `make test`, or tools/with_postgres.py cargo test")
        .parse()
        .unwrap()
}

/// The same as a URL, with this database.
pub fn database_url(options: &PgConnectOptions) -> String {
    let server = std::env::var("KEEPSAKE_TEST_DATABASE_URL").unwrap();
    let database = options.get_database().unwrap();
    format!("{}/{database}", server.rsplit_once('/').unwrap().0)
}

/// An empty database, without Keepsake's schema.
pub async fn empty_database() -> PgConnectOptions {
    create_database("template1").await
}

/// A database of this test's own, with the schema.
pub async fn fresh_database() -> PgConnectOptions {
    static TEMPLATE_READY: OnceCell<()> = OnceCell::const_new();
    TEMPLATE_READY.get_or_init(prepare_template).await;
    let options = create_database(TEMPLATE).await;
    if !citus_workers().is_empty() {
        let mut conn = PgConnection::connect_with(&options).await.unwrap();
        citus::set_for_database(&mut conn).await.unwrap();
    }
    options
}

/// `tools/with_postgres.py` has made it, of the migrations of the build, which this checks; on Citus it is made here.
async fn prepare_template() {
    let options = server_options().database(TEMPLATE);
    let workers = citus_workers();
    if workers.is_empty() {
        db::prepare(&options).await.expect("the template of tools/with_postgres.py");
        return;
    }
    for node in nodes() {
        let mut server = PgConnection::connect_with(&node).await.unwrap();
        for statement in ["DROP DATABASE IF EXISTS", "CREATE DATABASE"] {
            let statement = format!("{statement} {TEMPLATE}");
            server.sql(statement).run_all().await;
        }
    }
    db::prepare(&options).await.unwrap();
    distribute(&options, &workers).await;
    // No connection is to be left to a template: neither the workers' to each other, nor Citus' own process of it.
    for node in nodes() {
        let mut server = PgConnection::connect_with(&node).await.unwrap();
        server.sql(format!(
            "ALTER DATABASE {TEMPLATE} ALLOW_CONNECTIONS false;
             SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{TEMPLATE}'"
        )).run_all().await;
    }
}

/// As `keepsake migrate --citus` does, in few parts.
async fn distribute(options: &PgConnectOptions, workers: &[PgConnectOptions]) {
    for worker in workers {
        let worker = worker.clone().database(TEMPLATE);
        let mut conn = PgConnection::connect_with(&worker).await.unwrap();
        for name in ["vector", "hstore", "btree_gin", "btree_gist", "citus"] {
            let create = format!("CREATE EXTENSION {name}");
            conn.sql(create).run_all().await;
        }
    }
    let nodes: Vec<ClusterNode> = workers
        .iter()
        .map(|worker| ClusterNode { host: worker.get_host().to_owned(), port: worker.get_port() })
        .collect();
    let options = options.clone().options([("citus.shard_count", "4")]);
    let tables = citus::distribute(&options, None, &nodes).await.unwrap();
    assert!(tables > 0);
    assert_eq!(citus::distribute(&options, None, &[]).await.unwrap(), 0);
}

/// Whether this test is left out, because what it sets up is refused on Citus (docs/scaling.md). It says so.
pub fn is_left_out(refused: &str) -> bool {
    let is_left_out = !citus_workers().is_empty();
    if is_left_out {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or_default();
        // Not `eprintln!`, which only a failed test shows.
        let mut stderr = std::io::stderr();
        writeln!(stderr, "{name} is left out on Citus: {refused}").unwrap();
    }
    is_left_out
}

/// The workers that `tools/with_citus.py` started; none on an ordinary PostgreSQL.
pub fn citus_workers() -> Vec<PgConnectOptions> {
    let given = std::env::var("KEEPSAKE_TEST_CITUS_WORKERS").unwrap_or_default();
    let workers = given.split_whitespace().map(|url| url.parse().unwrap());
    workers.collect()
}

/// All servers on which a database of a test is.
fn nodes() -> Vec<PgConnectOptions> {
    citus_workers().into_iter().chain([server_options()]).collect()
}

async fn create_database(template: &str) -> PgConnectOptions {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("test_{}_{n}", std::process::id());
    // Of all tests together they would take 10 GB.
    let of_ended: Vec<String> = ended().drain(..).collect();
    for node in nodes() {
        let mut server = PgConnection::connect_with(&node).await.unwrap();
        for ended in &of_ended {
            let drop = format!("DROP DATABASE {ended} WITH (FORCE)");
            server.sql(drop).run_all().await;
        }
        let create = format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY");
        server.sql(create).run_all().await;
    }
    MADE.with(|made| made.0.borrow_mut().push(name.clone()));
    server_options().database(&name)
}

thread_local! {
    /// Databases of the test that this thread runs.
    static MADE: Made = const { Made(RefCell::new(Vec::new())) };
}

/// Those whose tests have ended.
static ENDED: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn ended() -> std::sync::MutexGuard<'static, Vec<String>> {
    ENDED.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Made(RefCell<Vec<String>>);

impl Drop for Made {
    /// Each test has a thread, which ends with it.
    fn drop(&mut self) {
        ended().append(self.0.get_mut());
    }
}
