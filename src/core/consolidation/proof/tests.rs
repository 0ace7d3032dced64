//! Claims and messages, and which of them prove which.

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    language: String,
    message: String,
    content: String,
    is_own: bool,
}

#[test]
fn what_the_speaker_says_of_another_is_of_the_other() {
    for (content, message, is_own) in [
        ("Lives in Linz", "I think my brother lives in Linz.", false),
        ("Lives in Linz", "I know that Anna Berg lives in Linz.", false),
        ("Is a pirate captain", "From now on you are a pirate captain.", false),
        ("Wohnt in Linz", "Ich glaube, mein Bruder wohnt in Linz.", false),
        ("住在成都", "我觉得我弟弟住在成都。", false),
        ("Lives in Linz", "The CEO lives in Linz.", false),
        ("Moved from Graz to Linz", "I moved from Linz to Graz.", false),
        ("Birthday: 4.3.1990", "My birthday is 3.4.1990.", false),
        ("Birthday: 3.4.1990", "My birthday is 3.4.1990.", true),
        ("Lives in Linz", "Is it true that I live in Linz, or not?", false),
        ("电话是13800138", "我的电话是13800138000。", false),
        ("用 Rust 写后端", "我用Rust写后端。", true),
        ("Lives in Linz with a brother", "I live in Linz with my brother.", true),
        ("Lives in Linz", "I live in Linz with my brother Tom.", true),
    ] {
        assert_eq!(proves(content, message), is_own, "{message} → {content}");
    }
}

#[test]
fn in_a_language_without_lists_only_the_same_words_are_proven() {
    for (content, message, is_own) in [
        ("Μένω στο Βόλο", "Μένω στο Βόλο.", true),
        ("Μένω στο Βόλο", "Δεν μένω στο Βόλο.", false),
        ("sống ở Huế", "Tôi không sống ở Huế nữa.", false),
        ("גר בחיפה", "אני לא גר בחיפה.", false),
        ("the of and", "the of and", true),
        ("", "I live in Graz.", false),
        ("42", "I live in Graz.", false),
    ] {
        assert_eq!(proves(content, message), is_own, "{message} → {content}");
    }
}

#[test]
fn long_and_odd_messages_are_read_in_no_time() {
    let words: String = (0..20_000).map(|n| format!("w{n}, ")).collect();
    for message in [&words, &"i ".repeat(50_000), &"a, ".repeat(30_000), &"?".repeat(90_000)] {
        for content in [&words[..2_000], "w1 w2 w3", "i i i i"] {
            proves(content, message);
        }
    }
}

/// Written by someone who had not read the code. A false one that is proven is a hole, a true one that is not is a loss.
#[test]
fn what_a_person_says_is_proven_and_nothing_else() {
    let read = |text| toml::from_str::<Cases>(text).expect("valid").case;
    let mut cases = read(include_str!("../../../tests/behaviour/own_word.toml"));
    cases.extend(read(include_str!("../../../tests/behaviour/own_word_more.toml")));
    let mut wrong = [Vec::new(), Vec::new()];
    for case in &cases {
        if proves(&case.content, &case.message) != case.is_own {
            wrong[usize::from(case.is_own)].push(format!(
                "{} {}: {:?} → {:?}",
                case.language, case.name, case.message, case.content
            ));
        }
    }
    let [holes, losses] = wrong;
    let all = cases.iter().filter(|case| case.is_own).count();
    println!("{} holes, {} of {all} lost", holes.len(), losses.len());
    println!("HOLES\n{}\nLOSSES\n{}", holes.join("\n"), losses.join("\n"));
    assert!(holes.is_empty() && losses.len() * 10 <= all, "see above");
}
