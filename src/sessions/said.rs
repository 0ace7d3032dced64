//! What was said in a message, as text: without the memory that Keepsake itself put
//! into it, and in pieces where it is long. Nothing else is ever left out.

/// What stands around memory that was put into a prompt.
pub const MEMORY_BEGINS: &str = "<keepsake-memory";
pub const MEMORY_ENDS: &str = "</keepsake-memory>";

/// What stands before, between and after the memory that was put into a text; the text whole
/// where there is none.
pub fn around_own_memory(text: &str) -> Vec<&str> {
    let mut around = Vec::new();
    let mut rest = text;
    while let Some(begins) = rest.find(MEMORY_BEGINS) {
        around.push(&rest[..begins]);
        rest = match rest[begins..].find(MEMORY_ENDS) {
            Some(ends) => &rest[begins + ends + MEMORY_ENDS.len()..],
            None => "",
        };
    }
    around.push(rest);
    around
}

/// Pieces of at most so many characters, whole words where there are any.
pub fn pieces(text: &str, chars_max: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some((end, _)) = rest.char_indices().nth(chars_max) else {
            return Some(std::mem::take(&mut rest));
        };
        let blank = rest[..end].rfind(char::is_whitespace);
        let end = blank.filter(|at| *at > end / 2).unwrap_or(end);
        let (piece, after) = rest.split_at(end);
        rest = after.trim_start();
        Some(piece)
    })
}
