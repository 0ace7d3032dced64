//! What a client that a person is to connect asks for. The endpoints of OAuth are `web/oauth`, the page that asks the person
//! is `app/src/pages/consent.rs`.

mod clients;
mod request;

pub use clients::{ClientRefusal, find};
pub use request::AuthorizationRefusal;

pub const AUTHORIZE: &str = "/oauth/authorize";
