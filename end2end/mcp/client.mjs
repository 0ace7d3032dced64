// The official TypeScript clients, of both lines, and the inspector against the server that run.py started.
//
//     node client.mjs      reads KEEPSAKE_URL, TOKEN, READER (a token that may only read) and CONNECTOR (of that profile)

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";

import * as v2 from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { KEEPSAKE_URL, TOKEN, READER, CONNECTOR } = process.env;
const MCP = new URL(`${KEEPSAKE_URL}/mcp`);
const TOOLS = ["memory_search", "memory_add", "memory_get", "memory_archive", "memory_list_themes"];
const NAME = { name: "end2end", version: "1" };
const INSPECTOR = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";

const bearer = (token) => ({ requestInit: { headers: token ? { authorization: `Bearer ${token}` } : {} } });

/** The current client; `mode` as its versionNegotiation takes it. */
const current = (mode) => async (token) => {
  const client = new v2.Client(NAME, { versionNegotiation: { mode } });
  await client.connect(new v2.StreamableHTTPClientTransport(MCP, bearer(token)));
  return { client, version: client.getNegotiatedProtocolVersion() };
};

/** The client of 2025, which says `initialize` with this version. */
const older = (version) => async (token) => {
  const client = new OldClient(NAME);
  const transport = new OldTransport(MCP, bearer(token));
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (message.method === "initialize") message.params.protocolVersion = version;
    return send(message, options);
  };
  let negotiated;
  transport.setProtocolVersion = (told) => (transport._protocolVersion = negotiated = told);
  await client.connect(transport);
  return { client, version: negotiated };
};

/** Every tool, and what each kind of mistake reads like. */
async function everyTool(name, connect, expected) {
  const { client, version } = await connect(TOKEN);
  assert.equal(version, expected);
  assert.equal(client.getServerVersion().name, "keepsake");
  assert.match(client.getInstructions(), /memory_search/);
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), TOOLS);
  for (const tool of tools) {
    assert.equal(tool.annotations.readOnlyHint, !["memory_add", "memory_archive"].includes(tool.name));
    assert.deepEqual([tool.annotations.destructiveHint, tool.annotations.idempotentHint, tool.annotations.openWorldHint], [false, true, false]);
    assert.ok(tool.annotations.title && tool.outputSchema.properties, tool.name);
  }
  const call = async (tool, input) => {
    const result = await client.callTool({ name: tool, arguments: input });
    assert.ok(!result.isError, JSON.stringify(result));
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
    return result.structuredContent;
  };
  const fact = { type: "fact", content: `The ${name} client likes tea.`, theme: "clients", tags: ["tea"] };
  const added = await call("memory_add", fact);
  assert.deepEqual([added.status, added.duplicate], ["active", false]);
  assert.deepEqual(await call("memory_add", fact), { ...added, duplicate: true });
  const found = async (query) => (await call("memory_search", { query, explain: true })).results.map((hit) => hit.id);
  assert.ok((await found("tea")).includes(added.id));
  assert.equal((await call("memory_get", { item_id: added.id })).content, fact.content);
  const { themes } = await call("memory_list_themes", {});
  assert.ok(themes.some((theme) => theme.slug === "clients" && theme.active_count > 0));
  assert.deepEqual(await call("memory_archive", { item_id: added.id }), { id: added.id, status: "archived" });
  assert.ok(!(await found("*")).includes(added.id));

  const wrong = async (who, tool, input) => {
    const result = await who.callTool({ name: tool, arguments: input });
    assert.equal(result.isError, true);
    return result.content[0].text;
  };
  assert.equal(await wrong(client, "memory_get", { item_id: 987654321 }), "There is no item 987654321 in your memory.");
  assert.match(await wrong(client, "memory_get", { item: 1 }), /^`item_id` is missing\. Ignored, since this tool has no such field: item\.$/);
  assert.match(await wrong(client, "memory_search", { limit: "ten" }), /^`limit` must be a whole number/);
  await assert.rejects(client.callTool({ name: "memory_delete", arguments: {} }), /There is no tool of this name; there are memory_search/);
  const { client: reader } = await connect(READER);
  assert.equal((await reader.listTools()).tools.length, TOOLS.length);
  assert.equal(await wrong(reader, "memory_add", fact), "This token lacks the scope memory:write.");
  await Promise.all([client.close(), reader.close()]);
}

/** The two tools of a connector, in the form that ChatGPT expects; the client checks it against the tools' schemas. */
async function connector(name, connect) {
  const { client } = await connect(CONNECTOR);
  assert.doesNotMatch(client.getInstructions(), /memory_/);
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), ["search", "fetch"]);
  const content = `The ${name} connector\nhas a zither.`;
  const { structuredContent: added } = await client.callTool({ name: "memory_add", arguments: { type: "fact", content } });
  const call = async (tool, input) => {
    const result = await client.callTool({ name: tool, arguments: input });
    assert.deepEqual(result.content.map((item) => item.type), ["text"]);
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
    return result.structuredContent;
  };
  const { results } = await call("search", { query: `zither of the ${name} connector` });
  const cited = { id: String(added.id), title: content.replace("\n", " "), url: `${KEEPSAKE_URL}/memory/${added.id}` };
  assert.deepEqual(results.find((result) => result.id === cited.id), cited);
  const { metadata, ...whole } = await call("fetch", { id: cited.id });
  assert.deepEqual(whole, { ...cited, text: content });
  assert.deepEqual([metadata.type, metadata.theme, metadata.agent], ["fact", "general", "connector"]);
  const unknown = await client.callTool({ name: "fetch", arguments: { id: "987654321" } });
  assert.deepEqual([unknown.isError, unknown.content[0].text], [true, "There is no item 987654321 in your memory."]);
  await client.close();
}

/** What somebody reads whose token is wrong or left out, or whose client tries OAuth on a 401. */
async function wrongTokens(name, connect) {
  const address = `${KEEPSAKE_URL}/agents`;
  // The current SDK words a 401 to its first question itself, and keeps ours in the error's data.
  const read = (error) => `${error.message} ${error.data?.text ?? ""}`;
  const saying = (...words) => (error) => words.every((word) => read(error).includes(word)) || assert.fail(`${name}: ${read(error)}`);
  await assert.rejects(connect(undefined), saying("No token was sent.", address));
  await assert.rejects(connect("ks_mistyped"), saying("This is not a whole token.", address));
}

const CALLBACK = "http://127.0.0.1:1/callback";

/** What an OAuth client keeps, and where it sends its person. */
const newClient = () => ({
  kept: {},
  redirectUrl: CALLBACK,
  clientMetadata: { redirect_uris: [CALLBACK], client_name: "end2end", scope: "memory:read memory:write" },
  state: () => "st4te",
  clientInformation() { return this.kept.information; },
  saveClientInformation(information) { this.kept.information = information; },
  tokens() { return this.kept.tokens; },
  saveTokens(tokens) { this.kept.tokens = tokens; },
  redirectToAuthorization(url) { this.kept.url = url; },
  saveCodeVerifier(verifier) { this.kept.verifier = verifier; },
  codeVerifier() { return this.kept.verifier; },
});

/** The person signs in and presses Allow: what comes back to the client. */
async function allowed(url, agent) {
  const headers = { "sec-fetch-site": "same-origin" };
  const send = (to, fields, more = {}) =>
    fetch(to, { method: "POST", body: new URLSearchParams(fields), headers: { ...headers, ...more }, redirect: "manual" });
  const signedIn = await send(`${KEEPSAKE_URL}/login`, { email: process.env.EMAIL, password: process.env.PASSWORD });
  const cookie = signedIn.headers.getSetCookie().map((line) => line.split(";")[0]).join("; ");
  const page = await fetch(url, { headers: { cookie } });
  assert.equal(page.status, 200);
  const choice = [["action", "allow"], ["agent", "new"], ["name", agent], ["scope", "memory:read"], ["scope", "memory:write"]];
  const answered = await send(url, choice, { cookie });
  assert.equal(answered.status, 303);
  const location = new URL(answered.headers.get("location"));
  assert.ok(location.href.startsWith(CALLBACK), location.href);
  assert.equal(location.searchParams.get("iss"), KEEPSAKE_URL);
  return location.searchParams;
}

/** From a 401 through the consent page to a tool's answer, and a refresh once the access token is lost. */
async function oauth(name, connect, finish) {
  const provider = newClient();
  await assert.rejects(connect(provider), /[Uu]nauthorized/);
  await finish(provider, await allowed(provider.kept.url, `oauth of TypeScript, ${name}`));
  const { client } = await connect(provider);
  const added = await client.callTool({ name: "memory_add", arguments: { type: "fact", content: `Allowed by OAuth, ${name}.` } });
  assert.ok(!added.isError, JSON.stringify(added));
  const first = { ...provider.kept.tokens };
  provider.kept.tokens = { ...first, access_token: "ks_lost" };
  assert.ok(!(await client.callTool({ name: "memory_search", arguments: { query: name } })).isError);
  assert.notEqual(provider.kept.tokens.refresh_token, first.refresh_token);
  await client.close();
}

const oauthV1 = () => {
  const transport = (provider) => new OldTransport(MCP, { authProvider: provider });
  const connect = async (provider) => {
    const client = new OldClient(NAME);
    await client.connect(transport(provider));
    return { client };
  };
  return oauth("v1", connect, (provider, answer) => transport(provider).finishAuth(answer.get("code")));
};

const oauthV2 = (mode) => {
  const transport = (provider) => new v2.StreamableHTTPClientTransport(MCP, { authProvider: provider });
  const connect = async (provider) => {
    const client = new v2.Client(NAME, { versionNegotiation: { mode } });
    await client.connect(transport(provider));
    return { client };
  };
  return oauth(mode, connect, (provider, answer) => transport(provider).finishAuth(answer));
};

/** The inspector's command line, as a person would try a server with it. */
async function inspector(era) {
  const inspect = async (token, ...args) => {
    const common = ["--cli", MCP.href, "--transport", "http", "--protocol-era", era, "--stored-auth-only", "--format", "json"];
    const command = [INSPECTOR, ...common, "--header", `Authorization: Bearer ${token}`, ...args];
    return promisify(execFile)(process.execPath, command, { env: process.env });
  };
  const answer = async (...args) => JSON.parse((await inspect(TOKEN, ...args)).stdout);
  const call = async (tool, input) => answer("--method", "tools/call", "--tool-name", tool, "--tool-args-json", JSON.stringify(input));
  const listed = await answer("--method", "tools/list", "--strict");
  assert.deepEqual((listed.result ?? listed).tools.map((tool) => tool.name), TOOLS);
  const content = (answered) => (answered.result ?? answered).structuredContent;
  const { id } = content(await call("memory_add", { type: "fact", content: `The ${era} inspector looks closely.` }));
  assert.ok(content(await call("memory_search", { query: "inspector" })).results.some((hit) => hit.id === id));
  assert.equal(content(await call("memory_get", { item_id: id })).id, id);
  assert.ok(content(await call("memory_list_themes", {})).themes.length > 0);
  assert.equal(content(await call("memory_archive", { item_id: id })).status, "archived");
  await assert.rejects(inspect("ks_mistyped", "--method", "tools/list"), (error) => {
    assert.match(error.stderr + error.stdout, /not a whole token|requires authorization/);
    return true;
  });
}

const ROUNDS = {
  "TypeScript, pinned": () => everyTool("pinned", current({ pin: "2026-07-28" }), "2026-07-28"),
  "TypeScript, auto": () => everyTool("auto", current("auto"), "2026-07-28"),
  "TypeScript, legacy": () => everyTool("legacy", current("legacy"), "2025-11-25"),
  "TypeScript v1, 2025-11-25": () => everyTool("november", older("2025-11-25"), "2025-11-25"),
  "TypeScript v1, 2025-06-18": () => everyTool("june", older("2025-06-18"), "2025-06-18"),
  "TypeScript v1, 2025-03-26": () => everyTool("march", older("2025-03-26"), "2025-03-26"),
  "connector, auto": () => connector("auto", current("auto")),
  "connector, v1": () => connector("old", older("2025-11-25")),
  "wrong tokens, pinned": () => wrongTokens("pinned", current({ pin: "2026-07-28" })),
  "wrong tokens, auto": () => wrongTokens("auto", current("auto")),
  "wrong tokens, legacy": () => wrongTokens("legacy", current("legacy")),
  "wrong tokens, v1": () => wrongTokens("v1", older("2025-11-25")),
  "OAuth, auto": () => oauthV2("auto"),
  "OAuth, legacy": () => oauthV2("legacy"),
  "OAuth, v1": oauthV1,
  "inspector, modern": () => inspector("modern"),
  "inspector, legacy": () => inspector("legacy"),
};

for (const [name, round] of Object.entries(ROUNDS)) {
  try {
    await round();
    console.log(`✓ ${name}`);
  } catch (error) {
    console.error(`✗ ${name}`, error);
    process.exitCode = 1;
  }
}
