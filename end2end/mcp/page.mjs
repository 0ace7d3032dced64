// An MCP client on a page: the official client of either line, which connects by OAuth as clients in browsers do. The browser
// calls the server directly. It keeps what it must between the redirects in the session's storage.

import * as current from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const NAME = { name: "page", version: "1" };
const CALLBACK = `${location.origin}/callback`;

const read = (name) => JSON.parse(sessionStorage.getItem(name) ?? "null") ?? undefined;
const keep = (name, value) => sessionStorage.setItem(name, JSON.stringify(value));

const provider = {
  redirectUrl: CALLBACK,
  clientMetadata: { redirect_uris: [CALLBACK], client_name: "A page", scope: "memory:read memory:write" },
  state: () => "st4te",
  clientInformation: () => read("client"),
  saveClientInformation: (client) => keep("client", client),
  tokens: () => read("tokens"),
  saveTokens: (tokens) => keep("tokens", tokens),
  codeVerifier: () => read("verifier"),
  saveCodeVerifier: (verifier) => keep("verifier", verifier),
  discoveryState: () => read("discovered"),
  saveDiscoveryState: (discovered) => keep("discovered", discovered),
  redirectToAuthorization: (url) => location.assign(url),
};

const lines = {
  v1: () => [new OldClient(NAME), OldTransport],
  v2: () => [new current.Client(NAME, { versionNegotiation: { mode: "auto" } }), current.StreamableHTTPClientTransport],
};

/** Comes back with the tools, or goes to the consent page. */
async function connect(server, line) {
  keep("asked", { server, line });
  const [client, Transport] = lines[line]();
  const transport = new Transport(new URL(`${server}/mcp`), { authProvider: provider });
  await client.connect(transport);
  const { tools } = await client.listTools();
  const added = await client.callTool({ name: "memory_add", arguments: { type: "fact", content: `A page remembers, by ${line}.` } });
  await client.close();
  return { tools: tools.map((tool) => tool.name), isError: added.isError };
}

async function comeBack() {
  const { server, line } = read("asked");
  const answer = new URLSearchParams(location.search);
  const [, Transport] = lines[line]();
  const transport = new Transport(new URL(`${server}/mcp`), { authProvider: provider });
  await transport.finishAuth(line === "v1" ? answer.get("code") : answer);
  return connect(server, line);
}

const show = (state, found) => {
  document.title = state;
  document.body.textContent = JSON.stringify(found);
};

try {
  const asked = new URLSearchParams(location.search);
  const found = location.pathname === "/callback" ? await comeBack() : await connect(asked.get("server"), asked.get("line"));
  show("connected", found);
} catch (error) {
  // Sent to the consent page, which ends this one.
  if (!/[Uu]nauthorized/.test(`${error.name} ${error.message}`)) show("failed", `${error.stack}`);
}
