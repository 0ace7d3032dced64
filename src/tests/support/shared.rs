//! One server and one database for all tests that need only users of their own: `#[tokio::test(crate = "crate::support::shared")]`
//! runs a test on the runtime that this server lives in, and [`TestApp::shared`] is that server. A test that changes what is
//! the whole server's (settings, the clock, jobs, tables) has a server of its own: [`TestApp::start`].

use std::sync::LazyLock;

use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use super::TestApp;

pub use tokio::pin;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
});

/// What the attribute names of tokio: a builder, which here always gives the same runtime.
pub mod runtime {
    pub struct Builder;

    impl Builder {
        pub fn new_current_thread() -> Self {
            Self
        }

        pub fn enable_all(self) -> Self {
            self
        }

        pub fn build(self) -> Result<&'static tokio::runtime::Runtime, std::convert::Infallible> {
            Ok(&super::RUNTIME)
        }
    }
}

impl TestApp {
    /// Users of this server get addresses of their own: `anna` is not `anna@example.com`.
    pub async fn shared() -> &'static Self {
        static APP: OnceCell<TestApp> = OnceCell::const_new();
        APP.get_or_init(TestApp::start_shared).await
    }
}
