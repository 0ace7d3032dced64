// Admin › Backups: before there is one, one is made, shown with its size and verified; a member is refused. The same way with
// JavaScript and without.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { PASSWORD, awake, collectComplaints, launch, lookAt, makeAgent, mark, signUp } from "./browser.mjs";
import { startServer } from "./server.mjs";

const TIMEOUT_MS = 120_000;

export async function backups(t, { javaScriptEnabled }) {
  const server = await startServer();
  t.after(() => server.stop());
  const browser = await launch();
  t.after(() => browser.close());
  const { url, tool } = server;
  const address = `${url}/admin/backups`;
  const context = await browser.newContext({ javaScriptEnabled });
  const complaints = await collectComplaints(context);
  const page = await context.newPage();
  const look = (name) => lookAt(page, name, javaScriptEnabled);
  const press = (name) => page.getByRole("button", { name, exact: true }).click();
  const row = page.locator(".jobs tbody tr").first();
  // With JavaScript the page follows by itself.
  const until = async (what, is) => {
    const deadline = Date.now() + TIMEOUT_MS;
    while (!(await is())) {
      assert.ok(Date.now() < deadline, `${what}: it did not come to that`);
      if (!javaScriptEnabled) await page.goto(address);
      await sleep(250);
    }
  };

  await t.test("before there is a backup the page says so, and offers to make one", async () => {
    await signUp(page, url);
    await tool(await makeAgent(page, url, "claude-code"), "memory_add", { type: "fact", content: "The shed is green." });
    await page.goto(`${url}/admin`);
    await page.getByRole("navigation", { name: "Admin", exact: true }).getByRole("link", { name: "Backups" }).click();
    await page.getByText("There is no backup yet.").waitFor();
    assert.equal(await page.locator(".jobs").count(), 0);
    assert.equal(await page.getByRole("button", { name: "Verify now" }).count(), 0);
    await look("backups-empty");
  });

  await t.test("a backup is made and shown with its size", async () => {
    await press("Back up now");
    await page.getByText("A backup is made now.").waitFor();
    if (javaScriptEnabled) await awake(page);
    const stillSame = javaScriptEnabled && (await mark(page));
    await until("the backup is listed", async () => (await row.count()) === 1);
    await until("it is made", async () => (await page.getByText("A backup is being made.").count()) === 0);
    if (stillSame) await stillSame();
    assert.match(await row.locator("th").textContent(), /^keepsake-.+\.tar$/);
    assert.match(await row.locator("td[data-label=Size]").textContent(), /^[\d.,]+ (kB|KB|MB)$/);
    assert.match(await row.locator("td[data-label=Rows]").textContent(), /^[\d,]+$/);
    assert.equal(await row.locator("td[data-label=Verified]").textContent(), "never");
    await look("backups");
  });

  await t.test("Verify now restores it and says what came of it", async () => {
    await press("Verify now");
    await page.getByText("The newest backup is verified now.").waitFor();
    const verified = row.locator("td[data-label=Verified]");
    await until("it is verified", async () => /done/.test(await verified.textContent()));
    await until("and no more", async () => (await page.getByText("is being verified").count()) === 0);
    assert.equal(await row.locator("td[data-label=Verified] time").count(), 1);
    assert.equal(await page.getByRole("alert").count(), 0);
    await look("backups-verified");
  });

  await t.test("who is no admin does not find the page", async () => {
    await page.goto(`${url}/admin/users`);
    await press("Create invitation");
    const invitation = await page.locator(".fresh code").textContent();
    const others = await browser.newContext({ javaScriptEnabled });
    const bens = await others.newPage();
    await bens.goto(invitation);
    await bens.getByLabel("E-mail address").fill("ben@example.com");
    await bens.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await bens.getByRole("button", { name: "Create account" }).click();
    await bens.waitForURL(`${url}/memory`);
    assert.equal((await bens.goto(address)).status(), 404);
    await bens.getByRole("heading", { name: "Page not found" }).waitFor();
    assert.ok(!(await bens.content()).includes("keepsake-2"), "a member is told a file's name");
    const asked = await bens.request.post(address, { form: { action: "back_up" }, headers: { origin: url } });
    assert.equal(asked.status(), 404);
    await page.goto(address);
    assert.equal(await page.locator(".jobs tbody tr").count(), 1);
  });

  // Without JavaScript Chromium complains that the islands were fetched and not run.
  if (javaScriptEnabled) assert.deepEqual(complaints, []);
}
