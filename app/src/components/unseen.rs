//! Characters that cannot be seen and yet change what is read: they turn text
//! about, or carry words past the eye to whoever reads them as characters. They
//! are kept, marked, and reach no further than their mark.

use leptos::prelude::*;

/// Spaces of no width, what turns direction about, tags. Not the joiners and marks
/// that Arabic, Persian, Hebrew, Indic scripts and emoji need.
pub fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// For where no mark can stand, such as a page's title.
pub fn without_unseen(text: &str) -> String {
    text.chars().filter(|c| !is_unseen(*c)).collect()
}

/// A link whose words are somebody's text.
#[component]
pub fn MarkedLink(href: String, text: String) -> impl IntoView {
    view! {
        <a href=href dir="auto">
            <Marked text />
        </a>
    }
}

/// The text, to the last character, with a mark at each run of unseen ones.
#[component]
pub fn Marked(text: String) -> impl IntoView {
    if !text.contains(is_unseen) {
        return text.into_any();
    }
    runs_of(&text)
        .into_iter()
        .map(|(run, unseen)| match unseen {
            false => run.into_any(),
            true => {
                let title = names_of(&run);
                view! {
                    <span class="unseen" title=title>
                        {run}
                    </span>
                }
                .into_any()
            }
        })
        .collect_view()
        .into_any()
}

fn runs_of(text: &str) -> Vec<(String, bool)> {
    let mut runs: Vec<(String, bool)> = Vec::new();
    for c in text.chars() {
        match runs.last_mut() {
            Some((run, unseen)) if *unseen == is_unseen(c) => run.push(c),
            _ => runs.push((c.to_string(), is_unseen(c))),
        }
    }
    runs
}

/// "Invisible characters: U+202E, U+2066"
fn names_of(run: &str) -> String {
    const NAMED_MAX: usize = 8;
    let named = run.chars().take(NAMED_MAX);
    let names: Vec<String> = named.map(|c| format!("U+{:04X}", u32::from(c))).collect();
    let more = if run.chars().nth(NAMED_MAX).is_some() { ", …" } else { "" };
    format!("Invisible characters: {}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_the_text_and_joiners_are_no_offence() {
        let text = "a\u{202e}\u{2066}b\u{200d}c\u{200e}\u{feff}";
        let runs = runs_of(text);
        let joined: String = runs.iter().map(|(run, _)| run.as_str()).collect();
        assert_eq!(joined, text);
        let unseen: Vec<_> = runs.iter().map(|(_, unseen)| *unseen).collect();
        assert_eq!(unseen, [false, true, false, true]);
        assert_eq!(names_of("\u{202e}"), "Invisible characters: U+202E");
        assert_eq!(without_unseen(text), "ab\u{200d}c\u{200e}");
    }
}
