//! Messages in the shapes of ten libraries, and what is kept of them.

use serde_json::{Value, json};

use super::*;

/// Each message as "role id content calls", its calls as name(arguments)#id.
fn kept(entry: &Value) -> Vec<String> {
    let told = |message: NewMessage| {
        let calls = message.tool_calls.iter().map(|call| {
            format!(" {}({})#{}", call.name, call.arguments, call.id.as_deref().unwrap_or("-"))
        });
        let answered = message.tool_call_id.map(|id| format!(" ={id}")).unwrap_or_default();
        let calls: String = calls.collect();
        format!(
            "{} {} {}{calls}{answered}",
            message.role.as_str(),
            message.external_id,
            message.content
        )
    };
    match read(entry) {
        Ok(messages) => messages.into_iter().map(told).collect(),
        Err(why) => vec![why.to_owned()],
    }
}

#[test]
fn messages_of_any_framework_are_read() {
    for (entry, told) in [
        // Our own, and OpenAI's chat.
        (json!({ "id": "1", "role": "user", "content": "Hi" }), vec!["user 1 Hi"]),
        (
            json!({ "id": 7, "role": "assistant", "content": null, "refusal": null, "annotations": [], "name": "x", "tool_calls":
                [{ "id": "c1", "type": "function", "function": { "name": "now", "arguments": "{}" } }] }),
            vec!["assistant 7  now({})#c1"],
        ),
        (
            json!({ "role": "tool", "tool_call_id": "c1", "content": "noon" }),
            vec!["tool c1#result noon =c1"],
        ),
        (
            json!({ "id": "f", "role": "function", "name": "now", "content": "noon" }),
            vec!["tool f noon"],
        ),
        (
            json!({ "id": "2", "role": "user", "content": [{ "type": "text", "text": "See" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } }] }),
            vec!["user 2 See\n[image]"],
        ),
        (
            json!({ "id": "3", "role": "assistant", "content": null, "refusal": "No." }),
            vec!["assistant 3 No."],
        ),
        // OpenAI's Responses.
        (
            json!({ "id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
                "content": [{ "type": "output_text", "text": "Yes.", "annotations": [] }] }),
            vec!["assistant msg_1 Yes."],
        ),
        (
            json!({ "id": "fc_1", "type": "function_call", "call_id": "c9", "name": "now", "arguments": "{\"z\":1}" }),
            vec!["assistant fc_1  now({\"z\":1})#c9"],
        ),
        (
            json!({ "type": "function_call_output", "call_id": "c9", "output": "noon" }),
            vec!["tool c9#result noon =c9"],
        ),
        (json!({ "id": "rs", "type": "reasoning", "summary": [] }), vec![THINKING]),
        // Anthropic.
        (
            json!({ "id": "a", "role": "assistant", "content": [{ "type": "thinking", "thinking": "Hm" },
                { "type": "text", "text": "Let me see." }, { "type": "tool_use", "id": "tu", "name": "sh", "input": { "c": "ls" } }] }),
            vec!["assistant a Let me see. sh({\"c\":\"ls\"})#tu"],
        ),
        (
            json!({ "id": "b", "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "tu", "content": [{ "type": "text", "text": "a.txt" }] },
                { "type": "text", "text": "And now?" }] }),
            vec!["tool b#tu a.txt =tu", "user b And now?"],
        ),
        (
            json!({ "id": "b", "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "tu", "content": "x" }] }),
            vec!["tool b x =tu"],
        ),
        // Claude's export, and a transcript line of Claude Code.
        (json!({ "uuid": "u", "sender": "human", "text": "Hi", "content": [] }), vec!["user u Hi"]),
        (
            json!({ "type": "user", "uuid": "u2", "message": { "role": "user", "content": "Hi" } }),
            vec!["user u2 Hi"],
        ),
        // Gemini.
        (
            json!({ "id": "g", "role": "model", "parts": [{ "text": "t", "thought": true }, { "text": "Ja" },
                { "functionCall": { "id": "x", "name": "now", "args": {} } }] }),
            vec!["assistant g Ja now({})#x"],
        ),
        (
            json!({ "id": "g2", "role": "user", "parts": [{ "functionResponse": { "id": "x", "name": "now", "response": { "at": 1 } } }] }),
            vec!["tool g2 {\"at\":1} =x"],
        ),
        (
            json!({ "id": "g3", "role": "user", "parts": [{ "inlineData": { "mimeType": "image/png", "data": "A" } }] }),
            vec!["user g3 [image]"],
        ),
        // Bedrock.
        (
            json!({ "id": "k", "role": "assistant", "content": [{ "text": "Ok" }, { "toolUse": { "toolUseId": "t", "name": "n", "input": {} } }] }),
            vec!["assistant k Ok n({})#t"],
        ),
        // LangChain.
        (
            json!({ "type": "human", "data": { "id": "l", "content": "Hi", "additional_kwargs": {} } }),
            vec!["user l Hi"],
        ),
        (
            json!({ "lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessageChunk"],
                "kwargs": { "id": "run-1", "content": "Ok", "tool_calls": [{ "name": "n", "args": {}, "id": "t" }] } }),
            vec!["assistant run-1 Ok n({})#t"],
        ),
        (
            json!({ "type": "tool", "id": "l3", "content": "x", "tool_call_id": "t" }),
            vec!["tool l3 x =t"],
        ),
        (json!({ "type": "system", "id": "l4", "content": "x" }), vec![SYSTEM]),
        // LlamaIndex.
        (
            json!({ "id": "li", "role": "assistant", "additional_kwargs": { "tool_calls": [{ "id": "t", "function": { "name": "n", "arguments": "" } }] },
                "blocks": [{ "block_type": "text", "text": "Ok" }] }),
            vec!["assistant li Ok n()#t"],
        ),
        // The Vercel AI SDK: interface messages, and model messages.
        (
            json!({ "id": "v", "role": "assistant", "content": "", "parts": [{ "type": "step-start" }, { "type": "reasoning", "text": "h" },
                { "type": "tool-weather", "toolCallId": "t", "state": "output-available", "input": { "c": "Graz" }, "output": { "t": 3 } },
                { "type": "text", "text": "3°" }, { "type": "file", "filename": "a.pdf", "url": "x" }] }),
            vec![
                "assistant v 3°\n[file a.pdf] weather({\"c\":\"Graz\"})#t",
                "tool v#t {\"t\":3} =t",
            ],
        ),
        (
            json!({ "id": "v2", "role": "tool", "content": [{ "type": "tool-result", "toolCallId": "t", "toolName": "weather",
                "output": { "type": "json", "value": { "t": 3 } } }] }),
            vec!["tool v2 {\"t\":3} =t"],
        ),
        // What a tool or a search brought is not the person's.
        (
            json!({ "id": "d", "role": "tool", "content": "x", "data": { "role": "user", "content": "I am Bob." } }),
            vec!["tool d x"],
        ),
        (
            json!({ "id": "d", "type": "tool", "message": { "role": "user", "content": "I am Bob." } }),
            vec!["tool d I am Bob."],
        ),
        (
            json!({ "id": "s", "role": "user", "content": [{ "type": "text", "text": "Who?" },
                { "type": "search_result", "title": "Bob", "content": [{ "type": "text", "text": "I am Bob." }] }] }),
            vec!["user s Who?\n[search_result]"],
        ),
        // What nobody can keep.
        (json!("Hi"), vec![NO_OBJECT]),
        (json!({ "role": "user", "content": "Hi" }), vec![NO_ID]),
        (json!({ "id": "", "role": "user", "content": "Hi" }), vec![NO_ID]),
        (json!({ "id": "x", "role": "narrator", "content": "Hi" }), vec![NO_ROLE]),
        (json!({ "id": "x", "role": "developer", "content": "Hi" }), vec![SYSTEM]),
        (json!({ "id": "x", "role": "user", "content": " \u{0} " }), vec![SILENT]),
        (
            json!({ "id": "x", "role": "assistant", "content": [{ "type": "redacted_thinking", "data": "x" }] }),
            vec![THINKING],
        ),
        (json!({ "id": "x", "role": "tool", "content": "" }), vec!["tool x "]),
    ] {
        assert_eq!(kept(&entry), told, "{entry}");
    }
}

/// Recorded from the libraries themselves; what is to be kept was written by someone who had not read the code.
#[test]
fn what_libraries_write_is_kept_as_the_docs_say() {
    let (mut files, mut wrong) = (0, Vec::new());
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../end2end/clients/shapes");
    for entry in std::fs::read_dir(folder).expect("the folder").flatten() {
        files += 1;
        let text = std::fs::read_to_string(entry.path()).expect("a file");
        let recorded: Value = serde_json::from_str(&text).expect("JSON");
        for message in recorded["messages"].as_array().expect("a list") {
            let kept = read(&message["sent"]).unwrap_or_default();
            let ids: HashSet<&str> = kept.iter().map(|m| m.external_id.as_str()).collect();
            let kept: Vec<Value> = kept.iter().map(|m| {
                let calls: Vec<&str> = m.tool_calls.iter().map(|call| call.name.as_str()).collect();
                json!({ "role": m.role.as_str(), "content": m.content, "calls": calls, "answers": m.tool_call_id })
            }).collect();
            if json!(kept) != message["kept"] || ids.len() != kept.len() {
                wrong.push(format!(
                    "{}: {}\n  kept {}\n  not  {}",
                    entry.file_name().display(),
                    message["sent"],
                    json!(kept),
                    message["kept"]
                ));
            }
        }
    }
    assert!(
        files >= 20 && wrong.is_empty(),
        "{files} files, {} wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn times_are_read_in_any_form_and_one_that_is_none_costs_only_itself() {
    for (written, read_as) in [
        (json!("2026-11-21T10:00:00+01:00"), Some("2026-11-21T09:00:00Z")),
        (json!("2026-11-21T10:00:00+0100"), Some("2026-11-21T09:00:00Z")),
        (json!("2026-11-21 09:00:00"), Some("2026-11-21T09:00:00Z")),
        (json!("2026-11-21T09:00:00.250"), Some("2026-11-21T09:00:00.25Z")),
        (json!("2026-11-21 09:00:00.250000+00:00"), Some("2026-11-21T09:00:00.25Z")),
        (json!("2026-11-21 09:00:00 UTC"), Some("2026-11-21T09:00:00Z")),
        (json!("2026-11-21"), Some("2026-11-21T00:00:00Z")),
        (json!("Sat, 21 Nov 2026 09:00:00 +0000"), Some("2026-11-21T09:00:00Z")),
        (json!(1_795_251_600), Some("2026-11-21T09:00:00Z")),
        (json!(1_795_251_600_000_i64), Some("2026-11-21T09:00:00Z")),
        (json!(1_795_251_600.5), Some("2026-11-21T09:00:00.5Z")),
        (json!("1795251600"), Some("2026-11-21T09:00:00Z")),
        (json!({ "$date": "2026-11-21T09:00:00Z" }), Some("2026-11-21T09:00:00Z")),
        (json!("yesterday"), None),
        (json!(f64::MAX), None),
        (json!("NaN"), None),
        (json!([]), None),
        (json!("0001-01-01T00:00:00Z"), None),
    ] {
        let message = json!({ "id": "1", "role": "user", "content": "Hi", "created_at": written });
        let at = read(&message).expect("kept")[0].sent_at;
        let format = &time::format_description::well_known::Rfc3339;
        assert_eq!(
            at.map(|at| at.format(format).expect("a date")).as_deref(),
            read_as,
            "{written}"
        );
    }
}

#[test]
fn what_is_too_long_is_cut_with_a_mark_and_ids_stay_apart() {
    let long = json!({ "id": "1", "role": "user", "content": "ü".repeat(MESSAGE_CHARS_MAX + 1) });
    let content = &read(&long).expect("kept")[0].content;
    assert!(content.ends_with(CUT) && content.chars().count() == MESSAGE_CHARS_MAX);
    let id = |id: &str| {
        let message = json!({ "id": id, "role": "user", "content": "Hi" });
        read(&message).expect("kept")[0].external_id.clone()
    };
    let (one, two) = ("x".repeat(300), "x".repeat(301));
    assert!(
        id(&one) != id(&two) && id(&one) == id(&one) && id(&one).len() <= EXTERNAL_ID_CHARS_MAX
    );
    assert!(!id("a\nb").contains('\n'));
    let calls: Vec<Value> =
        (0..70).map(|n| json!({ "name": format!("t{n}\n"), "id": n })).collect();
    let many = json!({ "id": "1", "role": "assistant", "tool_calls": calls });
    let read = read(&many).expect("kept");
    let counts: Vec<usize> = read.iter().map(|message| message.tool_calls.len()).collect();
    assert_eq!(counts, [64, 6]);
    assert_eq!(read[0].tool_calls[0].name, "t0");
    let mut deep = json!("x");
    for _ in 0..100 {
        deep = json!([deep]);
    }
    assert_eq!(kept(&json!({ "id": "1", "role": "user", "content": deep })), [SILENT]);
}
