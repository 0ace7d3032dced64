//! Numbers as people read them: grouped by thousands, with the word that belongs
//! to them, and lengths of time that do not pretend to know more than they do. Also the beginnings of long texts.

/// "1,234"
pub fn count(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if n < 0 { format!("-{grouped}") } else { grouped }
}

/// "1 day", "30 days"
pub fn days(n: usize) -> String {
    match n {
        1 => "1 day".to_owned(),
        n => format!("{n} days"),
    }
}

/// "1 memory", "1,234 memories"
pub fn memories(n: i64) -> String {
    match n {
        1 => "1 memory".to_owned(),
        n => format!("{} memories", count(n)),
    }
}

/// "1 document", "1,234 documents"
pub fn documents(n: i64) -> String {
    match n {
        1 => "1 document".to_owned(),
        n => format!("{} documents", count(n)),
    }
}

/// What is embedded: "411 memories"; "2,721 texts (411 memories, 2,310 from messages and documents)".
pub fn texts(of_memories: i64, from_messages: i64) -> String {
    match from_messages {
        0 => memories(of_memories),
        messages => format!(
            "{} ({}, {} from messages and documents)",
            some_texts(of_memories + messages, messages),
            memories(of_memories),
            count(messages)
        ),
    }
}

/// Some of these: "3 memories", or "3 texts" where messages are among them.
pub fn some_texts(n: i64, from_messages: i64) -> String {
    match (n, from_messages) {
        (n, 0) => memories(n),
        (1, _) => "1 text".to_owned(),
        (n, _) => format!("{} texts", count(n)),
    }
}

/// "730 bytes", "12 kB", "103.4 MB"
pub fn size(bytes: i64) -> String {
    match bytes {
        ..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", (bytes + 500) / 1_000),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// How long something took: "340 ms", "2.1 s", "3 min"
pub fn lasted(ms: i64) -> String {
    match ms {
        ..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1e3),
        _ => format!("{} min", count((ms + 30_000) / 60_000)),
    }
}

/// "about 20 s left", "about 3 min left", "about 2 h left"; steps coarse enough to sit still.
pub fn time_left(seconds: i64) -> String {
    match seconds {
        ..5 => "a few seconds left".to_owned(),
        5..90 => format!("about {} s left", (seconds + 4) / 5 * 5),
        90..5_400 => format!("about {} min left", (seconds + 30) / 60),
        _ => format!("about {} h left", count((seconds + 1_800) / 3_600)),
    }
}

/// "41/s", "0.4/s"
pub fn rate(per_second: f64) -> String {
    if per_second >= 9.95 { format!("{per_second:.0}/s") } else { format!("{per_second:.1}/s") }
}

/// "line 3", "lines 3 to 9"
pub fn lines_in_words(lines: (i32, i32)) -> String {
    match lines {
        (first, last) if first == last => format!("line {first}"),
        (first, last) => format!("lines {first} to {last}"),
    }
}

/// The beginning of a text that was read with at most `chars_max` characters: cut at a word where the text is longer.
pub fn beginning(text: String, chars_max: i32) -> String {
    if text.chars().count() < chars_max.unsigned_abs() as usize {
        return text;
    }
    let words = text.rsplit_once(char::is_whitespace);
    let words = words.map_or(text.as_str(), |(words, _)| words);
    format!("{}…", words.trim_end())
}

/// "never used", "used once", "used 3 times"
pub fn used(times: i64) -> String {
    match times {
        0 => "never used".to_owned(),
        1 => "used once".to_owned(),
        n => format!("used {} times", count(n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        let said = [0, 7, 999, 1_000, 1_234_567, -1_000].map(count);
        assert_eq!(said, ["0", "7", "999", "1,000", "1,234,567", "-1,000"]);
        assert_eq!(
            (memories(1), memories(1_234)),
            ("1 memory".to_owned(), "1,234 memories".to_owned())
        );
    }

    #[test]
    fn memories_and_messages_are_counted_apart() {
        let said = [(1, 0), (411, 0), (411, 2_310), (0, 1)].map(|(m, t)| texts(m, t));
        assert_eq!(
            said,
            [
                "1 memory",
                "411 memories",
                "2,721 texts (411 memories, 2,310 from messages and documents)",
                "1 text (0 memories, 1 from messages and documents)",
            ]
        );
        assert_eq!(some_texts(3, 7), "3 texts");
    }

    #[test]
    fn what_took_long_is_told_less_exactly() {
        let said = [0, 340, 2_140, 61_000, 200_000].map(lasted);
        assert_eq!(said, ["0 ms", "340 ms", "2.1 s", "1 min", "3 min"]);
    }

    #[test]
    fn time_left_is_told_in_steps() {
        let said = [0, 7, 18, 89, 100, 3_600, 9_000].map(time_left);
        assert_eq!(
            said,
            [
                "a few seconds left",
                "about 10 s left",
                "about 20 s left",
                "about 90 s left",
                "about 2 min left",
                "about 60 min left",
                "about 3 h left",
            ]
        );
    }

    #[test]
    fn slow_rates_keep_a_decimal() {
        assert_eq!([41.3, 9.97, 0.42].map(rate), ["41/s", "10/s", "0.4/s"]);
    }
}
