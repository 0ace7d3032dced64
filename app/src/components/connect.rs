//! Tabs with the lines that connect an agent: one a client, ready to be pasted.
//! They are radio buttons and CSS, so that they work without JavaScript. Each
//! line was tried with the client it is for (`end2end/connect`).

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
    let recipes = recipes(public_url.trim_end_matches('/'), &token);
    let tabs = recipes.into_iter().enumerate().map(|(n, recipe)| {
        let id = format!("{prefix}-{}", recipe.id);
        let pastes = recipe
            .pastes
            .into_iter()
            .map(|(caption, text)| view! { <Paste caption text /> });
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

fn recipes(public_url: &str, token: &str) -> Vec<Recipe> {
    let mcp = format!("{public_url}/mcp");
    let fill = |template: &str| {
        template
            .replace("{mcp}", &mcp)
            .replace("{url}", public_url)
            .replace("{token}", token)
    };
    let one = |caption, template| vec![(caption, fill(template))];
    vec![
        Recipe {
            id: "claude-code",
            client: "Claude Code",
            pastes: one("In a terminal", CLAUDE_CODE),
            note: "Then /mcp in Claude Code lists keepsake as connected.",
        },
        Recipe {
            id: "codex",
            client: "Codex",
            pastes: vec![
                ("In a terminal", fill(CODEX_TOKEN)),
                ("In ~/.codex/config.toml", fill(CODEX)),
            ],
            note: "Codex reads the token from its environment: put the first line where your shell starts. /mcp lists keepsake.",
        },
        Recipe {
            id: "gemini-cli",
            client: "Gemini CLI",
            pastes: one("In a terminal", GEMINI),
            note: "Then /mcp in Gemini CLI lists keepsake and its five tools.",
        },
        Recipe {
            id: "cursor",
            client: "Cursor",
            pastes: one("In ~/.cursor/mcp.json", CURSOR),
            note: "Where the file has servers already, put only keepsake beside them.",
        },
        Recipe {
            id: "vscode",
            client: "VS Code",
            pastes: one(
                "In .vscode/mcp.json, or MCP: Open User Configuration",
                VSCODE,
            ),
            note: "Then start keepsake above its name in the file, and ask in agent mode.",
        },
        Recipe {
            id: "openai",
            client: "OpenAI SDK",
            pastes: one(
                "Python, with pip install openai requests",
                OPENAI,
            ),
            note: "The tools are called from where this runs, so the server need not be reachable from the internet.",
        },
        Recipe {
            id: "anthropic",
            client: "Anthropic SDK",
            pastes: one(
                "Python, with pip install anthropic requests",
                ANTHROPIC,
            ),
            note: "The tools are called from where this runs, so the server need not be reachable from the internet.",
        },
        Recipe {
            id: "langchain",
            client: "LangChain",
            pastes: one(
                "Python, with pip install \"langchain[mcp]\" langchain-anthropic",
                LANGCHAIN,
            ),
            note: "Any model that LangChain knows takes the place of the one named here.",
        },
        Recipe {
            id: "curl",
            client: "curl",
            pastes: vec![
                ("Add a memory", fill(CURL_ADD)),
                ("Find it again", fill(CURL_SEARCH)),
            ],
            note: "Every tool is a POST with a JSON body; /docs has them all.",
        },
        Recipe {
            id: "stdio",
            client: "Others",
            pastes: vec![
                ("Over HTTP: address and header", fill(OTHER_HTTP)),
                ("Over stdio: a command and its environment", fill(OTHER_STDIO)),
            ],
            note: "Any client of the Model Context Protocol; the command bridges to this server for those that only start programs.",
        },
    ]
}

const CLAUDE_CODE: &str = r#"claude mcp add --transport http --scope user keepsake {mcp} --header "Authorization: Bearer {token}""#;

const CODEX_TOKEN: &str = "export KEEPSAKE_TOKEN={token}";

const CODEX: &str = r#"[mcp_servers.keepsake]
url = "{mcp}"
bearer_token_env_var = "KEEPSAKE_TOKEN""#;

const GEMINI: &str = r#"gemini mcp add --transport http --scope user --header "Authorization: Bearer {token}" keepsake {mcp}"#;

const CURSOR: &str = r#"{
  "mcpServers": {
    "keepsake": {
      "url": "{mcp}",
      "headers": { "Authorization": "Bearer {token}" }
    }
  }
}"#;

const VSCODE: &str = r#"{
  "servers": {
    "keepsake": {
      "type": "http",
      "url": "{mcp}",
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

keepsake = {"mcpServers": {"keepsake": {"url": "{mcp}", "headers": {"Authorization": "Bearer {token}"}}}}

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

const CURL_SEARCH: &str = r#"curl -sS {url}/api/v1/tools/memory_search \
  -H 'Authorization: Bearer {token}' \
  -H 'Content-Type: application/json' \
  -d '{"query":"how long should answers be?"}'"#;

const OTHER_HTTP: &str = "{mcp}\nAuthorization: Bearer {token}";

const OTHER_STDIO: &str = "KEEPSAKE_URL={url} KEEPSAKE_TOKEN={token} keepsake mcp";
