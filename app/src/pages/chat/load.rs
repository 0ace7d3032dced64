//! What the page Admin says of the chat model. No key comes in here, and none goes out.

use crate::endpoint::{chat_endpoint_view, host_port, model_name};
use crate::providers::settings::SystemChatSettings;
use crate::view::SystemChatView;

pub(crate) fn system_view(system: &SystemChatSettings) -> SystemChatView {
    let host = host_port(&system.endpoint.url);
    let cap = system.daily_token_cap;
    let mut endpoint = chat_endpoint_view(&system.endpoint);
    endpoint.values.push(("daily_token_cap", crate::words::count(cap)));
    SystemChatView {
        endpoint,
        in_force: (!host.is_empty()).then(|| (host, model_name(&system.endpoint))),
        cap,
    }
}
