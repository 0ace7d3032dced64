// Hostile text in a real browser: nothing of it runs, and what turns text about
// turns nothing beside it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { awake, begin, makeAgent, untilOpened } from "./browser.mjs";
import { islandsMissing } from "./server.mjs";

const PAYLOADS = [
  "<script>window.pwned=1</script>",
  '"><img src=x onerror="window.pwned=1">',
  "'><svg/onload=window.pwned=1>",
  "</title></textarea><script>window.pwned=1</script>",
  "javascript:window.pwned=1",
  "<a href=\"javascript:window.pwned=1\">x</a>",
];
/** Turns about all that follows, and never ends it. */
const BIDI = "\u202eabc\u2067def";

test("hostile text neither runs nor turns anything about", async (t) => {
  const { url, tool, session, email, page } = await begin(t);
  const dialogs = [];
  page.on("dialog", (dialog) => dialogs.push(dialog.message()) && dialog.dismiss());
  await page.goto(`${url}/activity`);
  await page.getByRole("button", { name: "Log search queries" }).click();
  const token = await makeAgent(page, url, BIDI);
  for (const text of PAYLOADS) await makeAgent(page, url, text);
  let item;
  for (const text of [...PAYLOADS, `${BIDI} ghi`]) {
    ({ id: item } = await tool(token, "memory_add", { type: "fact", content: text, theme: text, tags: [text] }));
    await tool(token, "memory_search", { query: text });
    await session(token, encodeURIComponent(text), [
      { id: "1", role: "assistant", content: text, tool_calls: [{ id: "c", name: text, arguments: text }] },
      { id: "2", role: "tool", tool_call_id: "c", content: text },
    ]);
  }
  await page.goto(`${url}/sessions`);
  const sessions = await page.locator("[data-row] a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  assert.equal(sessions.length, PAYLOADS.length + 1);
  await page.goto(`${url}/admin/users`);
  for (const text of PAYLOADS) {
    const name = text.replaceAll(/[\s@]/g, "");
    await page.locator("input[name=email]").evaluate((input, value) => {
      input.type = "text";
      input.value = value;
    }, `${name}@example.com`);
    await page.getByRole("button", { name: "Create invitation" }).click();
    await page.locator(".fresh").waitFor();
  }
  const last = page.locator("q").filter({ hasText: "ghi" });
  await untilOpened(page, `${url}/activity`, "the last call is recorded", async () => (await last.count()) > 0);

  const ran = () => page.evaluate(() => window.pwned);
  const query = encodeURIComponent(PAYLOADS[1]);
  const addresses = ["/memory", `/memory?q=${query}&theme=${query}`, `/memory/${item}`, `/memory/${item}?q=${query}`, "/agents", "/activity", "/admin", "/admin/backups", "/admin/jobs", "/admin/users", `/admin/users?q=${query}`, "/settings/embeddings", "/account", `/login?next=${query}`, `/invitation/${query}`, "/sessions", ...sessions];
  const searches = PAYLOADS.map((text) => `/memory?q=${encodeURIComponent(text)}`);
  for (const address of [...addresses, ...searches]) {
    await page.goto(url + address);
    if (!islandsMissing) await awake(page);
    assert.equal(await ran(), undefined, address);
    assert.equal(await page.locator('img, iframe, [onerror], [onload], a[href^="javascript:"]').count(), 0, address);
  }
  assert.deepEqual(dialogs, []);

  await page.goto(`${url}/memory`);
  const first = page.locator("[data-row]").first();
  await inOrder(first.locator(".row-from .theme"), first.locator(".row-from .source"), "theme and source");
  await page.goto(`${url}/activity`);
  const call = page.locator(".call:visible").first();
  await inOrder(call.locator(".call-time"), call.locator(".badge"), "time and tool");
  await page.goto(`${url}/memory/${item}`);
  const mark = page.locator(".unseen").first();
  assert.match(await mark.getAttribute("title"), /U\+202E/);
  assert.equal(await page.locator(".whole").first().innerText(), `${BIDI} ghi`);
  assert.ok((await lefts(page.locator(".whole").first(), "abc")).every((left, n, all) => n === 0 || left > all[n - 1]), "abc reads from left to right");
  assert.equal((await page.title()).includes("\u202e"), false);
  assert.ok((await page.locator(".whoami").innerText()).includes(email));
});

/** Of two on one line, the first stands left of the second. */
async function inOrder(first, second, what) {
  const [a, b] = [await first.boundingBox(), await second.boundingBox()];
  assert.ok(a.x + a.width <= b.x + 1 || a.y + a.height <= b.y + 1, what);
}

/** Where each character of `words` is drawn. */
function lefts(element, words) {
  return element.evaluate((root, words) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const at = walker.currentNode.data.indexOf(words);
      if (at < 0) continue;
      return [...words].map((_, n) => {
        const range = document.createRange();
        range.setStart(walker.currentNode, at + n);
        range.setEnd(walker.currentNode, at + n + 1);
        return range.getBoundingClientRect().left;
      });
    }
    return [];
  }, words);
}
