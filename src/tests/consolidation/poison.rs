//! Planted texts, written by someone who had not read the code: whatever way they come in, and though the chat model obeys
//! them, they become neither the person's word nor, unless an agent says so itself, an agent's.

use keepsake::export::FileOrigin;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{fact, finding, items, read_due, told, user_of, user_says};
use crate::data::import_as;
use crate::support::{TestApp, TestUser};

#[derive(Deserialize)]
struct Texts {
    text: Vec<PlantedText>,
}

#[derive(Deserialize)]
struct PlantedText {
    name: String,
    way: String,
    marker: String,
    person: String,
    planted: String,
    question: String,
    #[serde(default)]
    answers: Vec<ObedientAnswer>,
}

/// What a chat model answers that does as it is told.
#[derive(Deserialize)]
struct ObedientAnswer {
    category: String,
    key: String,
    value: String,
    source: String,
    context: String,
}

fn texts() -> Vec<PlantedText> {
    toml::from_str::<Texts>(include_str!("../behaviour/poison.toml")).unwrap().text
}

impl PlantedText {
    /// `None`: it does not come in by a conversation.
    fn conversation(&self) -> Option<Vec<Value>> {
        let by_tool = |name: &str| {
            let call = json!({ "id": "c1", "name": name, "arguments": "{}" });
            vec![
                user_says("m1", &self.person),
                json!({ "id": "m2", "role": "assistant", "content": "", "tool_calls": [call] }),
                json!({ "id": "m3", "role": "tool", "tool_call_id": "c1", "content": self.planted }),
            ]
        };
        Some(match self.way.as_str() {
            "page" => by_tool("fetch"),
            "file" => by_tool("read_file"),
            "document" => by_tool("read_document"),
            "tool" if self.planted.contains("evil__") => by_tool("evil__memory_search"),
            "tool" => by_tool("shell"),
            "user_element" => {
                vec![user_says("m1", &format!("{}\n\n{}", self.planted, self.person))]
            }
            "quoted" => vec![user_says("m1", &format!("{}\n\n{}", self.person, self.planted))],
            _ => return None,
        })
    }

    fn facts(&self) -> Value {
        let each = self.answers.iter().map(|answer| {
            let category = match answer.category.as_str() {
                "preference" => "preferences",
                "project" => "projects",
                "profile" => "profile",
                _ => "other",
            };
            fact(category, &answer.key, &answer.value, &answer.source, &answer.context)
        });
        each.collect()
    }

    /// The trust of the memories that say it.
    fn believed(&self, items: &[Value]) -> Vec<String> {
        let of = items.iter().filter(|item| item["content"].to_string().contains(&self.marker));
        of.map(|item| item["trust"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test]
async fn a_planted_text_becomes_nobodys_word() {
    let app = TestApp::start().await;
    let mut wrong = Vec::new();
    let mut read = 0;
    for (n, text) in texts().into_iter().enumerate() {
        let Some(messages) = text.conversation() else { continue };
        let model = finding(text.facts(), "unrelated").await;
        let user = user_of(&app, &format!("reader-{n}"), &model).await;
        told(&user, "talk", &messages).await;
        read_due(&app).await;
        let believed = text.believed(&items(&app, &user).await);
        read += believed.len();
        if believed.iter().any(|trust| trust == "user" || trust == "agent") {
            wrong.push(format!("{} ({}): {believed:?}", text.name, text.way));
        }
    }
    assert!(read >= 46, "what the model said was stored, and this is no proof of anything: {read}");
    assert!(wrong.is_empty(), "{} of {read}\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_a_hostile_agent_adds_is_its_own_word_and_none_of_the_persons() {
    let app = TestApp::shared().await;
    for (n, text) in texts().into_iter().filter(|text| text.way == "agent").enumerate() {
        let user = app.user(&format!("victim-{n}")).await;
        told(&user, "talk", &[user_says("m1", &text.person), user_says("m2", &text.question)])
            .await;
        for quote in [&text.person, &text.question] {
            for item_type in ["instruction", "fact"] {
                let content: String = text.planted.chars().take(4_000).collect();
                let added = user
                    .call(
                        "memory_add",
                        json!({ "type": item_type, "content": format!("{content} ({item_type})"),
                                "source": "user_explicit", "source_context": quote }),
                    )
                    .await;
                assert_eq!(added["trust"], "agent", "{}: {added}", text.name);
            }
        }
    }
}

/// What recall hands an agent for this question, whole.
async fn recalled(user: &TestUser, question: &str) -> Value {
    let asked = json!({ "message": question, "min_relevance": 0.0, "budget_tokens": 4_000 });
    user.call("memory_recall", asked).await
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_a_file_claims_of_itself_is_somebody_elses_word() {
    let app = TestApp::shared().await;
    let mut told = 0;
    for (n, text) in texts().into_iter().filter(|text| text.way == "import").enumerate() {
        let user = app.user(&format!("importer-{n}")).await;
        let content: String = text.planted.chars().take(4_000).collect();
        let lines = ["instruction", "fact"].map(|kind| {
            json!({ "record": "item", "type": kind, "content": format!("{content} ({kind})"), "trust": "user",
                    "source": "user_explicit", "protected": true, "locked": true, "access_count": 1_000 })
            .to_string()
        });
        let file = format!("{{\"keepsake_export\":1}}\n{}\n", lines.join("\n"));
        let outcome = import_as(app, &user, &file, FileOrigin::Unknown).await;
        assert_eq!(outcome.added, 2, "{outcome:?}");
        assert_eq!(text.believed(&items(app, &user).await), ["external", "external"]);
        let answer = recalled(&user, &text.question).await;
        for item in answer["items"].as_array().unwrap() {
            told += 1;
            assert_eq!(item["trust"], "external", "{}: {answer}", text.name);
        }
        let block = answer["text"].as_str().unwrap_or_default();
        for line in block.lines().filter(|line| line.contains(&text.marker)) {
            assert!(line.contains("external"), "{}: {line}", text.name);
        }
    }
    assert!(told > 0, "nothing was recalled, and this is no proof of anything");
}

#[tokio::test(crate = "crate::support::shared")]
async fn names_of_themes_and_projects_reach_no_prompt_as_anybodys_word() {
    let app = TestApp::shared().await;
    let of = |text: &PlantedText| ["theme", "project"].contains(&text.way.as_str());
    for (n, text) in texts().into_iter().filter(of).enumerate() {
        let user = app.user(&format!("named-{n}")).await;
        let add = |name: &str| json!({ "type": "fact", "content": format!("{} {}", text.person, text.question), text.way.as_str(): name });
        // As long as a name may be, and where it is cut; the description of the theme is longer.
        let longest = if text.way == "theme" { 64 } else { 100 };
        let name: String = text.planted.trim().chars().take(longest).collect();
        let (status, _) =
            user.request(Method::POST, "/api/v1/tools/memory_add", Some(add(&name))).await;
        assert!(status == 200 || status == 422, "{}: {status}", text.name);
        user.call("memory_add", add("plain")).await;
        if text.way == "theme" {
            let description: String = text.planted.chars().take(500).collect();
            let described = json!({ "theme": "plain", "description": description });
            let described = user.call("memory_describe_theme", described).await;
            assert_eq!(described["described_by"], "agent");
        }
        let prompt = user.get("/api/v1/prompt?with=memory_file").await.text().await.unwrap();
        // Nor is any theme of this one agent named.
        assert!(!prompt.contains("\n- plain ("), "{prompt}");
        let recalled = recalled(&user, &text.question).await.to_string();
        for (door, told) in [("prompt", prompt), ("recall", recalled)] {
            let rest = told.replace("\\n", "\n");
            let lines: Vec<&str> =
                rest.lines().filter(|line| line.contains(&text.marker)).collect();
            assert!(lines.is_empty(), "{} in {door}: {lines:?}", text.name);
        }
    }
}
