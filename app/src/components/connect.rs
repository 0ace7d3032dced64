//! Tabs with the lines that connect an agent: one a client, ready to be pasted.
//! They are radio buttons and CSS, so that they work without JavaScript. What
//! can be run is run in `end2end/connect`; the lines for Claude Code, Codex and
//! Gemini CLI were tried by hand with those programs.

use leptos::prelude::*;

use super::Paste;

/// One client's tab: what to paste, and where.
struct Recipe {
    id: &'static str,
    client: &'static str,
    pastes: Vec<(&'static str, String)>,
    note: &'static str,
}

/// Where the token goes when it is not known any more.
pub const TOKEN_PLACE: &str = "YOUR_TOKEN";

/// The tabs. `prefix` keeps the ids of two on one page apart.
#[component]
pub fn Connect(public_url: String, token: String, prefix: String) -> impl IntoView {
    let name = format!("{prefix}-client");
    let recipes = recipes(&public_url, &token);
    let tabs = recipes.into_iter().enumerate().map(|(n, recipe)| {
        let id = format!("{prefix}-{}", recipe.id);
        let pastes =
            recipe.pastes.into_iter().map(|(caption, text)| view! { <Paste caption text /> });
        view! {
            <input type="radio" name=name.clone() id=id.clone() checked=n == 0 />
            <label for=id>{recipe.client}</label>
            <div class="connect-panel" data-client=recipe.id>
                {pastes.collect_view()}
                <p class="hint">{recipe.note}</p>
            </div>
        }
    });
    view! {
        <fieldset class="connect">
            <legend class="visually-hidden">"Connect with"</legend>
            {tabs.collect_view()}
        </fieldset>
    }
    .into_any()
}

/// The line that adds a memory, ready for a shell.
pub fn add_line(public_url: &str, token: &str) -> String {
    fill(CURL_ADD, public_url, token)
}

/// The line that finds it again.
pub fn search_line(public_url: &str, token: &str) -> String {
    fill(CURL_SEARCH, public_url, token)
}

/// The line that hands over what was said.
pub fn session_line(public_url: &str, token: &str) -> String {
    fill(CURL_SESSION, public_url, token)
}

fn fill(template: &str, public_url: &str, token: &str) -> String {
    template.replace("{url}", public_url.trim_end_matches('/')).replace("{token}", token)
}

fn recipes(public_url: &str, token: &str) -> Vec<Recipe> {
    let fill = |template| fill(template, public_url, token);
    let one = |caption, template| vec![(caption, fill(template))];
    let installs = |client| fill(INSTALL).replace("{client}", client);
    vec![
        Recipe {
            id: "claude-code",
            client: "Claude Code",
            pastes: vec![
                (BY_ITSELF, installs("claude-code")),
                ("Or only the tools, in a terminal", fill(CLAUDE_CODE)),
            ],
            note: "Then /mcp in Claude Code lists keepsake as connected.",
        },
        Recipe {
            id: "codex",
            client: "Codex",
            pastes: vec![
                (BY_ITSELF, installs("codex")),
                ("Or only the tools, in a terminal", fill(CODEX_TOKEN)),
                ("and in ~/.codex/config.toml", fill(CODEX)),
            ],
            note: "Codex reads the token from its environment: add the first line to your shell's startup file. /mcp lists keepsake.",
        },
        Recipe {
            id: "gemini-cli",
            client: "Gemini CLI",
            pastes: vec![
                (BY_ITSELF, installs("gemini-cli")),
                ("Or only the tools, in a terminal", fill(GEMINI)),
            ],
            note: "Then /mcp in Gemini CLI lists keepsake and its five tools.",
        },
        Recipe {
            id: "cursor",
            client: "Cursor",
            pastes: vec![
                (BY_ITSELF, installs("cursor")),
                ("Or only the tools, in ~/.cursor/mcp.json", fill(CURSOR)),
            ],
            note: "If the file already lists servers, add only keepsake.",
        },
        Recipe {
            id: "opencode",
            client: "OpenCode",
            pastes: vec![
                (BY_ITSELF, installs("opencode")),
                ("Or only the tools, in ~/.config/opencode/opencode.json", fill(OPENCODE)),
            ],
            note: "If the file already lists servers, add only keepsake.",
        },
        Recipe {
            id: "vscode",
            client: "VS Code",
            pastes: one("In .vscode/mcp.json, or MCP: Open User Configuration", VSCODE),
            note: "Then click Start above keepsake in the file, and ask in agent mode.",
        },
        Recipe {
            id: "openai",
            client: "OpenAI SDK",
            pastes: one("Python, with pip install openai requests", OPENAI),
            note: "The tools are called by your program, so the server need not be reachable from the internet.",
        },
        Recipe {
            id: "anthropic",
            client: "Anthropic SDK",
            pastes: one("Python, with pip install anthropic requests", ANTHROPIC),
            note: "The tools are called by your program, so the server need not be reachable from the internet.",
        },
        Recipe {
            id: "langchain",
            client: "LangChain",
            pastes: one(
                "Python, with pip install \"langchain[mcp]\" langchain-anthropic",
                LANGCHAIN,
            ),
            note: "Any model that LangChain supports works in place of this one.",
        },
        Recipe {
            id: "curl",
            client: "curl",
            pastes: vec![("Add a memory", fill(CURL_ADD)), ("Find it again", fill(CURL_SEARCH))],
            note: "Every tool is a POST with a JSON body; /docs has them all.",
        },
        Recipe {
            id: "stdio",
            client: "Others",
            pastes: vec![
                ("Over HTTP: address and header", fill(OTHER_HTTP)),
                ("Over stdio: a command and its environment", fill(OTHER_STDIO)),
            ],
            note: "For any client of the Model Context Protocol; the command is for clients that only start local programs.",
        },
    ]
}

const BY_ITSELF: &str = "In a terminal: it then remembers without being asked";

/// Shows what it changes, and asks (docs/connect.md).
const INSTALL: &str =
    "curl -fsS {url}/connect.py | KEEPSAKE_TOKEN={token} python3 - {client} --url {url}";

const CLAUDE_CODE: &str = r#"claude mcp add --transport http --scope user keepsake {url}/mcp --header "Authorization: Bearer {token}""#;

const CODEX_TOKEN: &str = "export KEEPSAKE_TOKEN={token}";

const CODEX: &str = r#"[mcp_servers.keepsake]
url = "{url}/mcp"
bearer_token_env_var = "KEEPSAKE_TOKEN""#;

const GEMINI: &str = r#"gemini mcp add --transport http --scope user --header "Authorization: Bearer {token}" keepsake {url}/mcp"#;

const CURSOR: &str = r#"{
  "mcpServers": {
    "keepsake": {
      "url": "{url}/mcp",
      "headers": { "Authorization": "Bearer {token}" }
    }
  }
}"#;

const OPENCODE: &str = r#"{
  "mcp": {
    "keepsake": {
      "type": "remote",
      "url": "{url}/mcp",
      "headers": { "Authorization": "Bearer {token}" }
    }
  }
}"#;

const VSCODE: &str = r#"{
  "servers": {
    "keepsake": {
      "type": "http",
      "url": "{url}/mcp",
      "headers": { "Authorization": "Bearer {token}" }
    }
  }
}"#;

const OPENAI: &str = r#"import requests
from openai import OpenAI

keepsake = requests.Session()
keepsake.headers = {"Authorization": "Bearer {token}", "Content-Type": "application/json"}
tools = keepsake.get("{url}/api/v1/tools?format=openai").json()
messages = [{"role": "system", "content": keepsake.get("{url}/api/v1/prompt").text},
            {"role": "user", "content": "Remember that I prefer tea. What else do you know about me?"}]
client = OpenAI()
while True:
    answer = client.chat.completions.create(model="gpt-5", messages=messages, tools=tools).choices[0].message
    messages.append(answer)
    if not answer.tool_calls:
        break
    for call in answer.tool_calls:
        result = keepsake.post(f"{url}/api/v1/tools/{call.function.name}", data=call.function.arguments)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result.text})
print(answer.content)"#;

const ANTHROPIC: &str = r#"import requests
from anthropic import Anthropic

keepsake = requests.Session()
keepsake.headers = {"Authorization": "Bearer {token}"}
tools = keepsake.get("{url}/api/v1/tools?format=anthropic").json()
guidance = keepsake.get("{url}/api/v1/prompt").text
messages = [{"role": "user", "content": "Remember that I prefer tea. What else do you know about me?"}]
client = Anthropic()
while True:
    answer = client.messages.create(model="claude-sonnet-5", max_tokens=1024, system=guidance, messages=messages, tools=tools)
    messages.append({"role": "assistant", "content": answer.content})
    results = [{"type": "tool_result", "tool_use_id": call.id,
                "content": keepsake.post(f"{url}/api/v1/tools/{call.name}", json=call.input).text}
               for call in answer.content if call.type == "tool_use"]
    if not results:
        break
    messages.append({"role": "user", "content": results})
print(answer.content[-1].text)"#;

const LANGCHAIN: &str = r#"import asyncio
from langchain.agents import create_agent
from langchain.mcp import MCPAdapter

keepsake = {"mcpServers": {"keepsake": {"url": "{url}/mcp", "headers": {"Authorization": "Bearer {token}"}}}}

async def main():
    async with MCPAdapter(keepsake) as adapter:
        agent = create_agent("anthropic:claude-sonnet-5", await adapter.list_tools())
        answer = await agent.ainvoke({"messages": [{"role": "user", "content": "What do you know about me?"}]})
        print(answer["messages"][-1].content)

asyncio.run(main())"#;

const CURL_ADD: &str = r#"curl -sS {url}/api/v1/tools/memory_add \
  -H 'Authorization: Bearer {token}' \
  -H 'Content-Type: application/json' \
  -d '{"type":"preference","content":"Prefers short answers, with the reasons after them."}'"#;

const CURL_SESSION: &str = r#"curl -sS {url}/api/v1/sessions/chat-1/messages \
  -H 'Authorization: Bearer {token}' \
  -H 'Content-Type: application/json' \
  -d '{"messages":[{"id":"1","role":"user","content":"I moved to Lisbon last week."}]}'"#;

const CURL_SEARCH: &str = r#"curl -sS {url}/api/v1/tools/memory_search \
  -H 'Authorization: Bearer {token}' \
  -H 'Content-Type: application/json' \
  -d '{"query":"how long should answers be?"}'"#;

const OTHER_HTTP: &str = "{url}/mcp\nAuthorization: Bearer {token}";

const OTHER_STDIO: &str = "KEEPSAKE_URL={url} KEEPSAKE_TOKEN={token} keepsake mcp";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_names_this_server_and_the_token_and_leaves_no_gap() {
        for recipe in recipes("https://memory.example/", "ks_1") {
            let text: String = recipe.pastes.into_iter().map(|(_, text)| text).collect();
            assert!(text.contains("https://memory.example/"), "{}", recipe.client);
            assert!(text.contains("ks_1"), "{}", recipe.client);
            assert!(!text.contains("example//"), "{text}");
            for gap in ["{url}", "{token}", "{client}"] {
                assert!(!text.contains(gap), "{text}");
            }
        }
    }

    #[test]
    fn what_a_shell_gets_stays_inside_its_quotes() {
        assert_eq!(add_line("http://x", "ks_1").matches('\'').count(), 6);
    }
}
