// MCP clients in a browser find the server, register, send their person to the consent page, and use the tools: the
// inspector, which asks through a server of its own, and pages with the official clients, which the browser lets call ours
// because it says so (CORS).

import assert from "node:assert/strict";
import { test } from "node:test";
import { begin, lookAt, makeAgent } from "./browser.mjs";
import { connectInspector, packagesMissing, servePage, startInspector } from "./mcp-clients.mjs";

const CORE = ["memory_search", "memory_add", "memory_get", "memory_archive", "memory_list_themes"];

test("the inspector connects by OAuth and lists the tools that were chosen", { skip: packagesMissing }, async (t) => {
  const { url, page } = await begin(t, { reducedMotion: "reduce" });
  const inspector = await startInspector(`${url}/mcp`);
  t.after(() => inspector.stop());
  await connectInspector(page, inspector);
  await lookAt(page, "consent-inspector", true);
  await page.setViewportSize({ width: 1280, height: 860 });
  await page.getByLabel("Tools", { exact: true }).selectOption("connector");
  await page.getByRole("button", { name: "Allow" }).click();
  await page.waitForURL((at) => at.href.startsWith(inspector.url));
  await page.getByText("Connected", { exact: true }).waitFor();
  await page.getByText("Tools", { exact: true }).first().click();
  await page.getByText("Tools (2)").waitFor();
  for (const name of ["search", "fetch"]) await page.getByText(name, { exact: true }).waitFor();
  await page.goto(`${url}/agents`);
  const row = page.locator(".agent", { hasText: "MCP Inspector" });
  await row.locator(".agent-count", { hasText: "connector" }).waitFor();
  await row.locator("> summary").click();
  await row.getByText(new URL(inspector.url).host).first().waitFor();
});

for (const line of ["v1", "v2"]) {
  test(`a page with the official client (${line}) connects, and the browser calls the server`, { skip: packagesMissing }, async (t) => {
    const { url, context, complaints } = await begin(t, { reducedMotion: "reduce" });
    const served = await servePage();
    t.after(() => served.stop());
    const page = await context.newPage();
    const called = [];
    page.on("response", (response) => called.push(new URL(response.url()).pathname));
    await page.goto(`http://localhost:${served.port}/?${new URLSearchParams({ server: url, line })}`);
    await page.getByRole("heading", { name: "Connect A page" }).waitFor();
    // Who is not known for sure reads, unless the person says more.
    await page.getByLabel("Add and archive memory").check();
    await page.getByRole("button", { name: "Allow" }).click();
    await page.waitForURL((at) => at.port === String(served.port));
    await page.waitForFunction(() => document.title !== "waiting");
    const said = await page.locator("body").textContent();
    assert.equal(await page.title(), "connected", said);
    assert.deepEqual(JSON.parse(said), { tools: CORE, isError: false });
    for (const path of ["/mcp", "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server", "/oauth/register", "/oauth/token"]) {
      assert.ok(called.some((one) => one.includes(path)), `${path} of ${called}`);
    }
    // Chromium says of each 401 and 404 that it came; nothing may be blocked.
    assert.deepEqual(complaints.filter((one) => !/status of (401|404|405)/.test(one)), []);
  });
}

test("a page of a name that is not ours reads that it is refused", { skip: packagesMissing }, async (t) => {
  const { url, page } = await begin(t, { reducedMotion: "reduce" });
  const token = await makeAgent(page, url, "stolen");
  const served = await servePage();
  t.after(() => served.stop());
  // The name is the server's machine, and the page another's, as after DNS rebinding.
  await page.goto(`http://elsewhere.localhost:${served.port}/?line=none`);
  const ask = ({ url, token }) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", accept: "application/json, text/event-stream" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    return fetch(`${url}/mcp`, { method: "POST", headers: { ...headers, "mcp-protocol-version": "2025-06-18" }, body }).then(
      async (answer) => [answer.status, (await answer.json()).error?.data.code],
      (error) => [error.message],
    );
  };
  assert.deepEqual(await page.evaluate(ask, { url, token }), [403, "wrong_origin"]);
  // Nor does it get at what the person's cookie opens.
  const withCookie = (url) => fetch(`${url}/agents`, { credentials: "include" }).then(() => "read", () => "blocked");
  assert.equal(await page.evaluate(withCookie, url), "blocked");
});
