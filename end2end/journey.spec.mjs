// From an empty account to a memory that is archived and found again, by a person who has a time zone; the same way with
// JavaScript and without, but for the steps that JavaScript makes shorter.

import assert from "node:assert/strict";
import { awake, begin, makeAgent, mark, scenario } from "./browser.mjs";

const CONTENT = "Drinks oolong in the afternoon, never coffee.";

scenario("from a new account to a memory that is found again", journey, "the list is filtered by its button, and no time zone is offered");

async function journey(t, { javaScriptEnabled }) {
  const { url, tool, page, step } = await begin(t, { javaScriptEnabled, timezoneId: "America/New_York" });
  const rows = page.locator("[data-row]");
  let token, id;

  await step("a new account has no memories", () => page.getByText("No memories yet.").waitFor());

  await step("a new agent's token is shown once", async () => {
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

  await step("what the agent adds is on the memory page", async () => {
    ({ id } = await tool(token, "memory_add", { type: "preference", content: CONTENT, theme: "food" }));
    await tool(token, "memory_add", { type: "fact", content: "Lives in Graz.", theme: "home" });
    await page.goto(`${url}/memory`);
    await rows.filter({ hasText: "oolong" }).waitFor();
    assert.equal(await rows.count(), 2);
  });

  await step("what the agent archives is gone from the list", async () => {
    await tool(token, "memory_archive", { item_id: id });
    await page.goto(`${url}/memory`);
    await rows.filter({ hasText: "Graz" }).waitFor();
    assert.equal(await rows.filter({ hasText: "oolong" }).count(), 0);
  });

  await step("Active and archived brings it back", async () => {
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

  await step("its page shows all of it and what happened to it", async () => {
    await rows.filter({ hasText: "oolong" }).locator(".row-link").click();
    await page.waitForURL(`${url}/memory/${id}`);
    await page.getByText(CONTENT).first().waitFor();
    const history = page.locator(".timeline li");
    assert.equal(await history.count(), 2);
    assert.match(await page.locator(".timeline").textContent(), /archived/);
    assert.match(await page.locator(".timeline").textContent(), /claude-code on the laptop/);
    await page.getByText("It is archived:").waitFor();
  });

  await step("a person sets a time zone, and the browser's is only offered", async () => {
    const zone = page.getByRole("combobox", { name: "Time zone" });
    const offer = page.getByRole("button", { name: "Use America/New_York, as this browser does" });
    const save = () => page.getByRole("button", { name: "Save time zone", exact: true }).click();
    await page.goto(`${url}/account`);
    assert.equal(await zone.inputValue(), "UTC");
    assert.ok((await page.locator("#time-zones option").count()) > 300);
    await zone.fill("Vienna");
    await save();
    await page.getByText("`time_zone` is not the name of a time zone").waitFor();
    assert.equal(await zone.inputValue(), "Vienna");
    await zone.fill("Europe/Vienna");
    await save();
    await page.getByText("Your time zone is Europe/Vienna.").waitFor();
    if (!javaScriptEnabled) {
      assert.equal(await offer.count(), 0);
      return;
    }
    await offer.click();
    await page.getByText("Your time zone is America/New_York.").waitFor();
    assert.equal(await zone.inputValue(), "America/New_York");
    await awake(page);
    assert.equal(await offer.count(), 0);
  });

  await step("signing out shuts the door", async () => {
    await page.locator(".account-menu > summary").click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(/\/login/);
    await page.goto(`${url}/memory/${id}`);
    assert.ok(page.url().startsWith(`${url}/login`), page.url());
  });
}
