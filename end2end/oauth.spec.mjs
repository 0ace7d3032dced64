// A person connects an MCP client in the browser: signs in on the way, chooses the agent, and the browser really gets to the
// client, which gets tokens.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { begin, fillSignIn, lookAt, scenario } from "./browser.mjs";

/** A client on this machine, which goes on to a page of its own, as some do. */
async function startClient() {
  const answers = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url, "http://localhost");
    if (url.pathname === "/callback") {
      answers.push(url.searchParams);
      response.writeHead(302, { location: "/done" }).end();
    } else {
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Done</title><h1>Connected</h1>");
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { answers, server, callback: `http://127.0.0.1:${server.address().port}/callback` };
}

scenario("a client is connected by OAuth", oauth);

async function oauth(t, { javaScriptEnabled }) {
  const client = await startClient();
  t.after(() => client.server.close());
  const { url, email, context, page, complaints, step } = await begin(t, { javaScriptEnabled });
  const look = (name) => lookAt(page, name, javaScriptEnabled);
  const verifier = randomBytes(32).toString("base64url");
  const post = async (path, body) => (await fetch(`${url}${path}`, { method: "POST", body })).json();
  let asked, id;

  await step("whoever is not signed in signs in, and comes back to the question", async () => {
    await context.clearCookies();
    const metadata = JSON.stringify({ client_name: "Example client", redirect_uris: [client.callback] });
    id = (await post("/oauth/register", metadata)).client_id;
    const query = new URLSearchParams({
      response_type: "code",
      client_id: id,
      redirect_uri: client.callback,
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
      scope: "memory:read memory:write",
      state: "st4te",
      resource: `${url}/mcp`,
    });
    asked = `${url}/oauth/authorize?${query}`;
    await page.goto(asked);
    await fillSignIn(page, email);
    await page.getByRole("heading", { name: "Connect Example client" }).waitFor();
    await page.getByText("unverified").waitFor();
    assert.deepEqual(await page.locator("input[name=scope]").evaluateAll((boxes) => boxes.map((box) => box.checked)), [true, false]);
    if (javaScriptEnabled) {
      // Not while another window has the focus: a click that was meant for that one gives nothing.
      const behind = await context.newPage();
      await behind.addInitScript(() => (document.hasFocus = () => window.isInFront === true));
      await behind.goto(asked);
      await behind.locator("button[value=allow]:disabled").waitFor();
      await behind.evaluate(() => (window.isInFront = true));
      await behind.locator("button[value=allow]:enabled").waitFor();
      await behind.close();
    }
    await look("consent");
  });

  await step("a mistake stands beside its field", async () => {
    await page.getByLabel("Add and archive memory").uncheck();
    await page.getByLabel("Search and read memory").uncheck();
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByText("Choose at least one permission").waitFor();
    await look("consent-mistake");
  });

  await step("the browser gets to the client, which remembers something", async () => {
    await page.getByLabel("Search and read memory").check();
    await page.getByLabel("Add and archive memory").check();
    await page.getByLabel("Tools", { exact: true }).selectOption("connector");
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByRole("heading", { name: "Connected" }).waitFor();
    const [answer] = client.answers;
    assert.deepEqual([answer.get("state"), answer.get("iss")], ["st4te", url]);
    const form = { grant_type: "authorization_code", code: answer.get("code"), client_id: id };
    const tokens = await post("/oauth/token", new URLSearchParams({ ...form, redirect_uri: client.callback, code_verifier: verifier }));
    assert.equal(tokens.scope, "memory:read memory:write");
    const headers = { authorization: `Bearer ${tokens.access_token}`, "content-type": "application/json", accept: "application/json, text/event-stream" };
    const params = { name: "memory_add", arguments: { type: "fact", content: "Connected in the browser." } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const called = await fetch(`${url}/mcp`, { method: "POST", headers: { ...headers, "mcp-protocol-version": "2025-06-18" }, body });
    assert.equal((await called.json()).result.isError, false);
  });

  await step("its agent shows the connection, and revokes it", async () => {
    await page.goto(`${url}/agents`);
    const row = page.locator(".agent", { hasText: "Example client" });
    await row.locator(".agent-count", { hasText: "connector" }).waitFor();
    await row.locator("> summary").click();
    await row.getByText(new URL(client.callback).host).first().waitFor();
    await look("agents-connection");
    await row.locator(".token summary").click();
    await row.getByRole("button", { name: "Revoke this connection" }).click();
    await page.waitForURL(`${url}/agents`);
    const over = page.locator(".agent", { hasText: "Example client" });
    await over.locator("> summary").click();
    await over.getByText("revoked").first().waitFor();
  });

  await step("no is told to the client, and a wrong address to the person", async () => {
    await page.goto(asked);
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByRole("heading", { name: "Connected" }).waitFor();
    assert.equal(client.answers[1].get("error"), "access_denied");
    await page.goto(asked.replace("callback", "elsewhere"));
    await page.getByRole("heading", { name: "This program cannot be connected" }).waitFor();
    await look("consent-refused");
  });

  assert.deepEqual(complaints, []);
}
