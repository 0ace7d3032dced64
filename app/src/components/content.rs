//! The words of a memory as they were written: never as HTML, with every space
//! and line kept. Lines that are set off as code are shown as code, and what
//! cannot be seen is marked.

use leptos::prelude::*;

use super::Marked;

#[component]
pub fn Content(text: String) -> impl IntoView {
    let runs = runs_of(&text)
        .into_iter()
        .map(|run| match run {
            Run::Prose(lines) => view! { <Marked text=lines /> }.into_any(),
            Run::Code(lines) => view! {
                <span class="code" dir="ltr">
                    <Marked text=lines />
                </span>
            }
            .into_any(),
        })
        .collect_view();
    view! {
        <p class="whole" dir="auto">
            {runs}
        </p>
    }
    .into_any()
}

#[derive(Debug, PartialEq, Eq)]
enum Run {
    Prose(String),
    Code(String),
}

/// Cuts a text into prose and code (fenced, or indented by four spaces or a
/// tab). Joined again, the runs are the text to the last character.
fn runs_of(text: &str) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut is_fenced = false;
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        let is_code = is_fence || is_fenced || line.starts_with("    ") || line.starts_with('\t');
        is_fenced ^= is_fence;
        match (runs.last_mut(), is_code) {
            (Some(Run::Code(lines)), true) | (Some(Run::Prose(lines)), false) => {
                lines.push_str(line);
            }
            (_, true) => runs.push(Run::Code(line.to_owned())),
            (_, false) => runs.push(Run::Prose(line.to_owned())),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(text: &str) -> Vec<String> {
        let code = |run| match run {
            Run::Code(lines) => Some(lines),
            Run::Prose(_) => None,
        };
        runs_of(text).into_iter().filter_map(code).collect()
    }

    #[test]
    fn indented_and_fenced_lines_are_code() {
        let text = "Run\n    make check\nor\n```sh\nls\n\nls\n```\nend";
        assert_eq!(code_of(text), ["    make check\n", "```sh\nls\n\nls\n```\n"]);
    }

    #[test]
    fn no_character_is_lost() {
        for text in ["", "\n", "a\n\n\tb\r\n``` open", "العربية\n    x"] {
            let joined: String = runs_of(text)
                .into_iter()
                .map(|run| match run {
                    Run::Prose(lines) | Run::Code(lines) => lines,
                })
                .collect();
            assert_eq!(joined, text);
        }
    }
}
