//! The two ways of having nothing to show: nothing is remembered yet (how to
//! begin), and nothing matches (what to loosen, one link for each filter).

use leptos::prelude::*;

use crate::components::Paste;
use crate::view::MemoryFilters;

#[component]
pub fn Beginning(public_url: String) -> impl IntoView {
    view! {
        <div class="column">
            <h1>"Memory"</h1>
            <div class="begin">
                <p class="first-words">"Nothing is remembered yet."</p>
                <p class="lead">
                    "Here will be what your agents learn about you: what you prefer, what is true, how you want things done. Each memory says who wrote it, and when."
                </p>
                <ol class="steps">
                    <li>
                        <p>
                            "Name an agent and copy its token: "
                            <a href="/agents">"Agents & tokens"</a> "."
                        </p>
                    </li>
                    <li>
                        <p>"Give the token to your agent, or add a first memory by hand:"</p>
                        <Paste
                            caption="Add a memory"
                            text=add_line(&public_url, "YOUR_TOKEN")
                        />
                    </li>
                    <li>
                        <p>"Come back: it is on this page."</p>
                    </li>
                </ol>
            </div>
        </div>
    }
    .into_any()
}

/// The line that adds a memory, ready for a shell.
pub fn add_line(public_url: &str, token: &str) -> String {
    tool_line(
        public_url,
        token,
        "memory_add",
        r#"{"type":"preference","content":"Prefers short answers, with the reasons after them."}"#,
    )
}

/// The line that finds it again.
pub fn search_line(public_url: &str, token: &str) -> String {
    tool_line(
        public_url,
        token,
        "memory_search",
        r#"{"query":"how long should answers be?"}"#,
    )
}

fn tool_line(public_url: &str, token: &str, tool: &str, input: &str) -> String {
    let public_url = public_url.trim_end_matches('/');
    format!(
        "curl -sS {public_url}/api/v1/tools/{tool} \\\n  \
         -H 'Authorization: Bearer {token}' \\\n  \
         -H 'Content-Type: application/json' \\\n  \
         -d '{input}'"
    )
}

#[component]
pub fn NothingMatches(filters: MemoryFilters) -> impl IntoView {
    let mut ways = Vec::new();
    if !filters.q.trim().is_empty() {
        ways.push((filters.without_words(), "leave out the words"));
    }
    if filters.theme.is_some() {
        ways.push((filters.with_theme(None), "look in all themes"));
    }
    if !filters.types.is_empty() {
        ways.push((filters.without_types(), "take any type"));
    }
    if filters.embedding.is_some() {
        ways.push((filters.with_embedding(None), "take any state of the vector"));
    }
    if filters.only_archived {
        ways.push((filters.with_archived(), "take what is not archived too"));
    } else if !filters.include_archived {
        ways.push((filters.with_archived(), "include what is archived"));
    }
    view! {
        <div class="nothing">
            <p class="first-words">"Nothing here matches."</p>
            <p>"You could"</p>
            <ul>
                {ways
                    .into_iter()
                    .map(|(filters, words)| {
                        view! {
                            <li>
                                <a href=filters.href() data-live-link="loosen">
                                    {words}
                                </a>
                            </li>
                        }
                    })
                    .collect_view()}
                <li>
                    <a href="/memory" data-live-link="loosen">
                        "start over"
                    </a>
                </li>
            </ul>
        </div>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_to_paste_names_the_server_the_tool_and_the_token() {
        assert_eq!(
            search_line("https://memory.example/", "ks_1"),
            "curl -sS https://memory.example/api/v1/tools/memory_search \\\n  \
             -H 'Authorization: Bearer ks_1' \\\n  \
             -H 'Content-Type: application/json' \\\n  \
             -d '{\"query\":\"how long should answers be?\"}'"
        );
    }

    #[test]
    fn what_is_pasted_stays_inside_its_quotes() {
        for line in [
            add_line("http://x", "ks_1"),
            search_line("http://x", "ks_1"),
        ] {
            assert_eq!(line.matches('\'').count(), 6, "{line}");
        }
    }
}
