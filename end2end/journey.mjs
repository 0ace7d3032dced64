// From an empty server to a memory that is archived and found again; the same
// way with JavaScript and without, but for the step that JavaScript makes shorter.

import assert from "node:assert/strict";
import { awake, launch, makeAgent, mark, signUp } from "./browser.mjs";
import { startServer } from "./server.mjs";

const CONTENT = "Drinks oolong in the afternoon, never coffee.";

export async function journey(t, { javaScriptEnabled }) {
  const server = await startServer();
  t.after(() => server.stop());
  const browser = await launch();
  t.after(() => browser.close());
  const { url, tool } = server;
  const context = await browser.newContext({ javaScriptEnabled });
  const page = await context.newPage();
  const rows = page.locator("[data-row]");
  let token, id;

  await t.test("the first account is made on the sign-in page", async () => {
    await signUp(page, url);
    await page.getByText("No memories yet.").waitFor();
  });

  await t.test("a new agent's token is shown once", async () => {
    token = await makeAgent(page, url, "claude-code on the laptop");
    await page.getByText("Waiting for its first call…").waitFor();
    for (const client of ["Claude Code", "Cursor", "curl"]) {
      await page.getByText(client, { exact: true }).click();
      const panel = page.locator(".connect-panel:visible");
      assert.equal(await panel.count(), 1, client);
      assert.ok((await panel.locator("pre").first().textContent()).includes(token), client);
    }
    await page.goto(`${url}/agents`);
    assert.ok(!(await page.content()).includes(token));
    await page.getByText("claude-code on the laptop", { exact: true }).waitFor();
  });

  await t.test("what the agent adds is on the memory page", async () => {
    ({ id } = await tool(token, "memory_add", { type: "preference", content: CONTENT, theme: "food" }));
    await tool(token, "memory_add", { type: "fact", content: "Lives in Graz.", theme: "home" });
    await page.goto(`${url}/memory`);
    await rows.filter({ hasText: "oolong" }).waitFor();
    assert.equal(await rows.count(), 2);
  });

  await t.test("what the agent archives is gone from the list", async () => {
    await tool(token, "memory_archive", { item_id: id });
    await page.goto(`${url}/memory`);
    await rows.filter({ hasText: "Graz" }).waitFor();
    assert.equal(await rows.filter({ hasText: "oolong" }).count(), 0);
  });

  await t.test("Active and archived brings it back", async () => {
    const status = page.locator("#filter-status");
    if (javaScriptEnabled) {
      await awake(page);
      const stillSame = await mark(page);
      await status.selectOption("all");
      await page.waitForURL(/[?&]status=all/);
      await stillSame();
    } else {
      await status.selectOption("all");
      await page.getByRole("button", { name: "Search" }).click();
      await page.waitForURL(/[?&]status=all/);
    }
    await rows.filter({ hasText: "oolong" }).filter({ hasText: "archived" }).waitFor();
    assert.equal(await rows.count(), 2);
    assert.equal(await status.inputValue(), "all");
  });

  await t.test("its page shows all of it and what happened to it", async () => {
    await rows.filter({ hasText: "oolong" }).locator(".row-link").click();
    await page.waitForURL(`${url}/memory/${id}`);
    await page.getByText(CONTENT).first().waitFor();
    const history = page.locator(".timeline li");
    assert.equal(await history.count(), 2);
    assert.match(await page.locator(".timeline").textContent(), /archived/);
    assert.match(await page.locator(".timeline").textContent(), /claude-code on the laptop/);
    await page.getByText("It is archived:").waitFor();
  });

  await t.test("signing out shuts the door", async () => {
    await page.locator(".account-menu > summary").click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(/\/login/);
    await page.goto(`${url}/memory/${id}`);
    assert.equal(new URL(page.url()).pathname, "/login");
  });
}
