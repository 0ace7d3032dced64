//! Groups that are made rather than written, and what is asked while some embeddings are ready and others are not.

use serde_json::json;

use super::cases::{Case, Group, State};
use super::prose::{self, WHO};
use super::{FILL, embed, import, start};
use crate::mcp::Mcp;
use crate::support::ids;

/// In a text of so many characters each.
const RARE: &[(&str, usize)] = &[
    ("quagga", 100),
    ("samovar", 300),
    ("theodolite", 1_000),
    ("gamelan", 3_000),
    ("zeugma", 8_000),
    // The most is 20,000.
    ("ocelot", 19_800),
];

const TROUBLES: [&str; 4] = [
    "login page hangs",
    "invoice page stays blank",
    "password mail never arrives",
    "search page times out",
];

/// What is told of each mark, how it is asked for, and the marks.
const MARKS: [[&str; 4]; 5] = [
    [
        "ports",
        "The daemon of WHO listens on port MARK.",
        "What listens on port MARK?",
        "8080, 8081, 8088, 8808, 5432, 5433, 4532, 9090, 9092, 11211",
    ],
    [
        "addresses of machines",
        "The machine of WHO has the address MARK.",
        "Which machine has the address MARK?",
        "10.20.30.4, 10.20.30.40, 10.20.30.14, 10.20.3.4, 10.2.30.4, 192.168.1.168, 192.168.1.16, 172.16.0.1, 172.16.1.0",
    ],
    [
        "versions",
        "Release MARK was packed by WHO.",
        "Who packed MARK?",
        "v1.2.3, v1.2.13, v1.12.3, v11.2.3, v1.3.2, v2.0.0, v2.0.1, v20.0.0, v2.0.0-rc.1, v2.0.0-rc.11",
    ],
    [
        "order numbers",
        "Order MARK goes to WHO.",
        "Where does order MARK go?",
        "AB-1047, AB-1074, AB-1407, AB-0147, AB-10470, BA-1047, AC-1047, AB-1048, AB-2047, AB-1147",
    ],
    [
        "phone numbers",
        "WHO can be reached at MARK.",
        "Whose number is MARK?",
        "+41 44 555 01 72, +41 44 555 01 27, +41 44 555 10 72, +41 43 555 01 72, +49 30 5550172, +49 30 5550127, 0800 555 172",
    ],
];

pub fn groups() -> Vec<Group> {
    let (short, long) = RARE.split_at(4);
    let tickets = (60_201..=60_240_usize).map(|n| {
        let (trouble, who) = (TROUBLES[n % TROUBLES.len()], WHO[n % WHO.len()]);
        (n.to_string(), format!("Ticket #{n}: {trouble} for customer {who}."))
    });
    let sentence = "What is the state of ticket #MARK?";
    let mut groups = vec![
        rare("a rare word in up to 3,000 characters", short, &[State::Ready, State::Pending]),
        rare("a rare word in up to 20,000 characters", long, &[State::Pending]),
        marked("tickets", &[State::Ready], sentence, tickets),
        tagged(),
    ];
    groups.extend(MARKS.map(|[name, told, sentence, marks]| {
        let memories = marks.split(", ").zip(WHO);
        let memories = memories
            .map(|(mark, who)| (mark.to_owned(), told.replace("MARK", mark).replace("WHO", who)));
        marked(name, &[State::Pending, State::Off], sentence, memories)
    }));
    groups
}

fn group(name: &str, states: &[State]) -> Group {
    let (name, file) = (name.to_owned(), "generated.rs".to_owned());
    Group { name, file, states: states.to_vec(), ..Group::default() }
}

fn rare(name: &str, words: &[(&str, usize)], states: &[State]) -> Group {
    let mut group = Group { fill: FILL, ..group(name, states) };
    for (word, _) in words {
        group.cases.push(Case::of(word, word));
        group.cases.push(Case::of(&format!("Do you know anything about the {word}?"), word));
    }
    let sentences = prose::sentences(&group);
    for (n, (word, chars)) in words.iter().enumerate() {
        let statement = format!("Then somebody brought the {word} along.");
        let content = prose::amid(&statement, &sentences, n, *chars);
        group.memories.push(((*word).to_owned(), content.into()));
    }
    group
}

/// Memories that differ by a mark, asked for by it alone and in a sentence.
fn marked(
    name: &str,
    states: &[State],
    sentence: &str,
    memories: impl Iterator<Item = (String, String)>,
) -> Group {
    let mut group = group(name, states);
    for (mark, content) in memories {
        group.cases.push(Case::of(&mark, &mark));
        group.cases.push(Case::of(&sentence.replace("MARK", &mark), &mark));
        group.memories.push((mark, content.into()));
    }
    group
}

/// Key and tags count as words of each passage, of the last one too.
fn tagged() -> Group {
    let states = [State::Ready, State::Pending, State::Failed, State::Off];
    let mut group = group("key and tags of a long memory", &states);
    group.cases.push(Case::of("zeppelin marmalade", "office"));
    group.cases.push(Case::of("office address marmalade", "office"));
    let statement = "Visitors ring twice and get marmalade.";
    let content = prose::amid(statement, &prose::sentences(&group), 1, 5_000);
    for (label, memory) in [
        ("office", json!({ "content": content, "key": "office_address", "tags": ["zeppelin"] })),
        ("word", json!("The marmalade of the breakfast was bitter.")),
        ("tag", json!({ "content": "Rises on Sundays.", "tags": ["zeppelin"] })),
        ("key", json!({ "content": "Mill Lane 3", "key": "home_address" })),
    ] {
        group.memories.push((label.to_owned(), memory));
    }
    group
}

#[tokio::test]
async fn a_weak_match_of_imports_that_wait_stays_behind_a_strong_one_that_is_ready() {
    let app = start().await;
    let anna = app.user("anna").await;
    let strong = anna.add("In winter the observatory opens at six in the evening.").await;
    embed(&app, &anna).await;
    let weak: Vec<String> =
        (0..300).map(|n| format!("The evening shift counted {n} parcels.")).collect();
    import(&app, &anna, &weak).await;
    let found = anna.find("When does the observatory open on a winter evening?").await;
    assert_eq!(found[0], strong);
    assert_eq!(anna.find("observatory evening").await[0], strong);
}

#[tokio::test]
async fn what_was_just_added_is_found_first_by_its_word_through_both_doors() {
    let app = start().await;
    let anna = app.user("anna").await;
    import(&app, &anna, &prose::facts(&[], 20)).await;
    embed(&app, &anna).await;
    let added = anna.add("The xylograph hangs beside the door.").await;
    assert_eq!(anna.find("xylograph").await[0], added);
    assert_eq!(anna.find("Where does the xylograph hang?").await[0], added);
    let mcp = Mcp::of(&app, &anna);
    let input = json!({ "type": "fact", "content": "The ocarina lies in the drawer." });
    let added = mcp.call("memory_add", input).await["id"].clone();
    for query in ["ocarina", "Where does the ocarina lie?"] {
        let answer = mcp.call("memory_search", json!({ "query": query })).await;
        assert_eq!(json!(ids(&answer)[0]), added, "{query}");
    }
}
