// What a person decides about one memory: archive, restore, confirm, delete permanently, each with
// Undo; and the admin's read-only browser. The same way with JavaScript and without.

import assert from "node:assert/strict";
import { awake, collectComplaints, gone, launch, makeAgent, signUp } from "./browser.mjs";
import { startServer } from "./server.mjs";

export async function manage(t, { javaScriptEnabled }) {
  const server = await startServer();
  t.after(() => server.stop());
  const browser = await launch();
  t.after(() => browser.close());
  const { url, tool } = server;
  const context = await browser.newContext({ javaScriptEnabled });
  const complaints = await collectComplaints(context);
  const page = await context.newPage();
  const button = (name) => page.getByRole("button", { name, exact: true });
  const says = (text) => page.getByText(text).first().waitFor();
  const manages = async (name) => {
    await page.getByText("Manage", { exact: true }).click();
    await button(name).click();
  };
  const found = async (query) => (await tool(token, "memory_search", { query })).results.map((hit) => hit.id);

  await signUp(page, url);
  const token = await makeAgent(page, url, "claude-code");
  const keyed = (content) => tool(token, "memory_add", { type: "fact", content, theme: "home", key: "home_city" });
  const { id: lyon } = await keyed("Anna lives in Lyon.");
  const address = `${url}/memory/${lyon}`;

  await t.test("the section is folded, and its buttons are out of the way", async () => {
    await page.goto(address);
    assert.equal(await button("Archive").isVisible(), false);
    await page.getByText("Manage", { exact: true }).click();
    await button("Archive").waitFor();
    assert.equal(await button("Restore").count(), 0);
    await says("after ten seconds");
  });

  await t.test("a memory is archived, and that is undone", async () => {
    await page.goto(address);
    await manages("Archive");
    await says("You archived this memory.");
    assert.deepEqual(await found("Lyon"), []);
    await button("Undo").click();
    await says("You restored this memory.");
    assert.deepEqual(await found("Lyon"), [lyon]);
  });

  await t.test("a memory is confirmed, and no longer", async () => {
    await manages("Confirm");
    await says("You confirmed this memory.");
    await page.locator(".item-head").getByText("confirmed").waitFor();
    await manages("Remove confirmation");
    await says("You removed the confirmation of this memory.");
    await page.locator(".timeline").first().getByText("confirmation removed").waitFor();
  });

  await t.test("what a newer fact replaced is restored in its place, or not", async () => {
    const { id: freiburg } = await keyed("Anna lives in Freiburg.");
    await page.goto(address);
    await manages("Restore");
    await says("Not restored: another memory is active in its place.");
    await page.locator(".ask").getByText("Anna lives in Freiburg.").waitFor();
    await page.getByRole("link", { name: "Keep the newer one" }).click();
    await says("Another memory has replaced it");
    assert.deepEqual(await found("Freiburg"), [freiburg]);
    await manages("Restore");
    await button("Restore this and archive the newer one").click();
    await says("You restored this memory.");
    assert.deepEqual(await found("lives"), [lyon]);
    await button("Undo").click();
    await says("You archived this memory.");
    assert.deepEqual(await found("lives"), [freiburg]);
  });

  await t.test("Undo goes by itself where a script can take it away, and is refused when it is late", async () => {
    await page.goto(address);
    await manages("Restore");
    await button("Restore this and archive the newer one").click();
    await says("You restored this memory.");
    if (javaScriptEnabled) {
      await awake(page);
      await page.locator(".undo-time").waitFor();
      await button("Undo").waitFor({ state: "hidden", timeout: 300_000 });
      return;
    }
    assert.equal(await page.locator(".undo-time").isVisible(), false);
    const event = await page.locator("input[name=event]").inputValue();
    const late = async () => {
      const form = { action: "undo", event };
      return page.request.post(address, { form, headers: { origin: url }, maxRedirects: 0 });
    };
    // No server's clock is moved here: the sentence is looked at once the time has passed.
    await page.waitForTimeout(13_000);
    const answer = await late();
    assert.equal(answer.status(), 409);
    assert.match(await answer.text(), /The ten seconds for Undo are over; nothing was changed\./);
  });

  await t.test("a permanent deletion is undone, and then runs", async () => {
    await page.goto(address);
    await manages("Delete permanently");
    await says("This memory will be deleted permanently in ten seconds.");
    assert.equal(await page.getByText("Manage", { exact: true }).count(), 0);
    await button("Undo").click();
    await page.waitForURL(address);
    await page.getByText("Manage", { exact: true }).waitFor();
    await manages("Delete permanently");
    await says("This memory will be deleted permanently in ten seconds.");
    if (javaScriptEnabled) {
      await awake(page);
      await says("This memory was deleted permanently.");
      assert.equal(await button("Undo").isVisible(), false);
    }
    await gone(page, address);
    await page.goto(`${url}/data`);
    await page.getByRole("link", { name: "One memory" }).waitFor();
  });

  await t.test("a read-only browser has no such section", async () => {
    const { id } = await tool(token, "memory_add", { type: "fact", content: "The shed is green." });
    const setting = page.locator("section[aria-labelledby=browser]").getByRole("button");
    await page.goto(`${url}/admin`);
    await setting.getByText("Switch it on").click();
    await says("The memory browser is now read-only for all users.");
    await page.goto(`${url}/memory/${id}`);
    await says("The shed is green.");
    assert.equal(await page.getByText("Manage", { exact: true }).count(), 0);
    const form = { action: "archive" };
    const refused = await page.request.post(`${url}/memory/${id}`, { form, headers: { origin: url } });
    assert.equal(refused.status(), 403);
    await page.goto(`${url}/admin`);
    await setting.getByText("Switch it off").click();
    await says("Users can manage memories in the browser again.");
    await page.goto(`${url}/memory/${id}`);
    await page.getByText("Manage", { exact: true }).waitFor();
  });

  // Without JavaScript Chromium complains that the islands were fetched and not run.
  if (javaScriptEnabled) assert.deepEqual(complaints, []);
}
