// What a person decides about one memory: archive, restore, confirm, delete permanently, each with
// Undo. The same way with JavaScript and without.

import assert from "node:assert/strict";
import { awake, begin, gone, makeAgent, scenario } from "./browser.mjs";

scenario("a memory is managed", manage, "nothing counts the seconds in which Undo can be pressed");

async function manage(t, { javaScriptEnabled }) {
  const { url, tool, sql, email, page, complaints, step } = await begin(t, { javaScriptEnabled });
  const button = (name) => page.getByRole("button", { name, exact: true });
  const says = (text) => page.getByText(text).first().waitFor();
  const manages = async (name) => {
    await page.getByText("Manage", { exact: true }).click();
    await button(name).click();
  };
  const found = async (query) => (await tool(token, "memory_search", { query })).results.map((hit) => hit.id);

  const token = await makeAgent(page, url, "claude-code");
  const keyed = (content) => tool(token, "memory_add", { type: "fact", content, theme: "home", key: "home_city" });
  const { id: lyon } = await keyed("Anna lives in Lyon.");
  const address = `${url}/memory/${lyon}`;

  await step("the section is folded, and its buttons are out of the way", async () => {
    await page.goto(address);
    assert.equal(await button("Archive").isVisible(), false);
    await page.getByText("Manage", { exact: true }).click();
    await button("Archive").waitFor();
    assert.equal(await button("Restore").count(), 0);
    await says("after ten seconds");
  });

  await step("a memory is archived, and that is undone", async () => {
    await page.goto(address);
    await manages("Archive");
    await says("You archived this memory.");
    assert.deepEqual(await found("Lyon"), []);
    await button("Undo").click();
    await says("You restored this memory.");
    assert.deepEqual(await found("Lyon"), [lyon]);
  });

  await step("a memory is confirmed, and no longer", async () => {
    await manages("Confirm");
    await says("You confirmed this memory.");
    await page.locator(".item-head").getByText("confirmed").waitFor();
    await manages("Remove confirmation");
    await says("You removed the confirmation of this memory.");
    await page.locator(".timeline").first().getByText("confirmation removed").waitFor();
  });

  await step("what a newer fact replaced is restored in its place, or not", async () => {
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

  await step("Undo goes by itself where a script can take it away, and is refused when it is late", async () => {
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
      return page.request.post(address, { form, headers: { origin: new URL(url).origin }, maxRedirects: 0 });
    };
    // No server's clock is moved here: what was done is said to have been done earlier.
    await sql(`UPDATE memory_item_events SET at = at - interval '15 seconds' WHERE id = ${event} AND user_id = (SELECT id FROM users WHERE email = '${email}')`);
    const answer = await late();
    assert.equal(answer.status(), 409);
    assert.match(await answer.text(), /The ten seconds for Undo are over; nothing was changed\./);
  });

  await step("a permanent deletion is undone, and then runs", async () => {
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

  // Without JavaScript Chromium complains that the islands were fetched and not run.
  if (javaScriptEnabled) assert.deepEqual(complaints, []);
}
