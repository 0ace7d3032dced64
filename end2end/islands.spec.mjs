// What the islands spare: reloads, and reaches for the mouse. And that no page complains.

import assert from "node:assert/strict";
import { test } from "node:test";
import { awake, begin, makeAgent, mark, until } from "./browser.mjs";
import { islandsMissing } from "./server.mjs";

const ITEMS = 30;

test("the islands", { skip: islandsMissing }, async (t) => {
  const { url, tool, context, page, complaints, step } = await begin(t);
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: new URL(url).origin });
  const rows = page.locator("[data-row]");
  let token, stillSame;

  const visit = async (address) => {
    await page.goto(url + address);
    await awake(page);
    stillSame = await mark(page);
  };

  await step("the copy button copies the token", async () => {
    token = await makeAgent(page, url, "copier");
    const copy = page.locator(".fresh .copy").first();
    await copy.click();
    await page.getByText("Copied").waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), token);
  });

  await step("the light of a new agent turns at its first call", async () => {
    await page.getByText("Waiting for its first call…").waitFor();
    stillSame = await mark(page);
    await tool(token, "memory_search", {});
    await page.locator(".first-call", { hasText: "Last used just now" }).waitFor();
    assert.equal(await page.locator(".fresh code").first().textContent(), token);
    await stillSame();
  });

  for (let n = 0; n < ITEMS; n++) {
    await tool(token, "memory_add", { type: n % 2 ? "fact" : "preference", content: `Entry number ${n}.`, theme: "work" });
  }
  const { id } = await tool(token, "memory_add", { type: "fact", content: "Keeps a zeppelin in the garden.", theme: "home" });
  // Until it has its vector, what is near by meaning alone may stand above it.
  await until(page, "the vectors are there", async () => (await tool(token, "memory_stats", {})).vectors.pending === 0);

  await step("typing filters the list, and the words stay in the address", async () => {
    await visit("/memory");
    await page.keyboard.press("/");
    await page.keyboard.type("zeppelin", { delay: 20 });
    await page.waitForURL(/[?&]q=zeppelin/);
    // By meaning others are found too; the word brings its own to the top.
    await page.waitForFunction(() => /zeppelin/i.test(document.querySelector("[data-row] mark")?.textContent));
    assert.match(await rows.first().textContent(), /zeppelin/i);
    assert.equal(await page.locator("#announcer").textContent(), await page.locator("#count").textContent());
    assert.equal(await page.evaluate(() => document.activeElement.id), "q");
    await stillSame();
  });

  await step("chips and themes filter, and Back goes back", async () => {
    await visit("/memory");
    await page.locator("#type-fact").check({ force: true });
    await page.waitForURL(/[?&]type=fact/);
    await page.locator(".themes a", { hasText: "home" }).or(page.locator(".themes a[href*='theme=home']")).first().click();
    await page.waitForURL(/[?&]theme=home/);
    await page.waitForFunction(() => document.querySelectorAll("[data-row]").length === 1);
    await page.goBack();
    await page.waitForFunction(() => document.querySelectorAll("[data-row]").length > 1);
    assert.equal(new URL(page.url()).searchParams.get("theme"), null);
    await page.goBack();
    await page.waitForFunction(() => !document.querySelector("#type-fact").checked);
    await stillSame();
  });

  await step("a date is taken when it is typed to its end, or picked", async () => {
    await visit("/memory");
    await page.locator("#more-filters summary").click();
    const day = () => new URL(page.url()).searchParams.get("as_of");
    await page.locator("#as-of").focus();
    await page.keyboard.type("01022020");
    assert.equal(await page.locator("#as-of").inputValue(), "2020-01-02");
    assert.equal(day(), null);
    await page.locator("#q").focus();
    await page.waitForURL(/[?&]as_of=2020-01-02/);
    // As the calendar does.
    await page.locator("#as-of").fill("2020-01-03");
    await page.waitForURL(/[?&]as_of=2020-01-03/);
    await stillSame();
  });

  await step("words that are typed while a filter is on its way stay", async () => {
    await visit("/memory");
    // The answer is held until words are typed, and shown before the pause after them ends.
    await page.evaluate(() => {
      const { promise, resolve } = Promise.withResolvers();
      const { fetch } = window;
      window.fetch = async (...asked) => {
        const answer = await fetch(...asked);
        const text = await answer.text();
        window.answer = resolve;
        await promise;
        const shown = new Response(text, answer);
        Object.defineProperty(shown, "url", { value: answer.url });
        return shown;
      };
    });
    await page.locator("#type-fact").check({ force: true });
    await page.waitForFunction(() => window.answer);
    await page.locator("#q").focus();
    await page.evaluate(() => {
      document.execCommand("insertText", false, "zep");
      window.answer();
    });
    await page.keyboard.type("pelin", { delay: 50 });
    await page.waitForURL(/[?&]q=zeppelin/);
    assert.equal(new URL(page.url()).searchParams.get("type"), "fact");
    assert.equal(await page.locator("#q").inputValue(), "zeppelin");
    await stillSame();
  });

  await step("Show more adds rows and moves the focus to the first of them", async () => {
    await visit("/memory");
    assert.equal(await rows.count(), 25);
    await page.locator("[data-live-link=more]").click();
    await page.waitForURL(/[?&]shown=50/);
    await rows.nth(ITEMS).waitFor();
    assert.equal(await rows.count(), ITEMS + 1);
    const focused = () => [...document.querySelectorAll("[data-row]")].findIndex((row) => row.contains(document.activeElement));
    assert.equal(await page.evaluate(focused), 25);
    await stillSame();
  });

  await step("the keys walk the list and show the shortcuts", async () => {
    await visit("/memory");
    const isOpen = () => page.evaluate(() => document.querySelector("#shortcuts").open);
    await page.keyboard.press("?");
    assert.ok(await isOpen());
    await page.keyboard.press("Escape");
    assert.ok(!(await isOpen()));
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    assert.ok(await isOpen());
    await page.getByRole("button", { name: "Close" }).click();
    assert.ok(!(await isOpen()));
    await stillSame();
    for (const key of ["j", "j", "k", "Enter"]) await page.keyboard.press(key);
    await page.waitForURL(`${url}/memory/${id}`);
  });

  await step("every page loads", async () => {
    for (const address of ["/memory", "/memory?q=zeppelin", `/memory/${id}`, "/memory/999999999", "/agents", "/account", "/nothing-here"]) {
      await visit(address);
    }
  });

  await step("who was signed out meanwhile ends at the door", async () => {
    await visit("/memory");
    await context.clearCookies();
    await page.locator("#filter-status").selectOption("all");
    await page.waitForURL(/\/login/);
    assert.equal(new URL(page.url()).searchParams.get("next"), "/memory?status=all");
    await page.waitForLoadState("networkidle");
  });

  await step("no page has complained all the while", () => assert.deepEqual(complaints, []));
});
