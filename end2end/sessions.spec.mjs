// From a conversation to memories and back: the ledger, the way from an item to the words it came
// from, read again, and erased.

import assert from "node:assert/strict";
import { begin, lookAt, makeAgent, scenario, until, untilOpened, useChat, withoutJavaScript } from "./browser.mjs";
import { fact, startModel } from "./model.mjs";

/** So that the very message is on a later page. */
const BEFORE = 130;

scenario("sessions", sessions);
scenario("conversations without a model", withoutModel);

async function withoutModel(t, { javaScriptEnabled }) {
  const visitor = await begin(t, { javaScriptEnabled });
  const { url, session, page, step } = visitor;
  const rows = page.locator("[data-row]");
  let token;

  await step("who has conversations and no memories searches them, and sees how memories begin", async () => {
    token = await makeAgent(page, url, "claude-code");
    await session(token, "before", [{ id: "1", role: "user", content: "Hello." }]);
    const plain = await withoutJavaScript(visitor);
    for (const [one, hasJavaScript] of [[page, javaScriptEnabled], [plain, false]]) {
      await one.goto(`${url}/memory`);
      await one.getByText("1 conversation with 1 message can be searched above.").waitFor();
      await lookAt(one, "memory-conversations", hasJavaScript);
      await one.goto(`${url}/memory?q=zeppelin&type=fact`);
      await one.getByText("No matching memories.").waitFor();
      await one.goto(`${url}/memory`);
      await one.getByRole("searchbox").fill("hello");
      await one.getByRole("button", { name: "Search", exact: true }).click();
      await one.locator("[data-row]").filter({ hasText: "Hello." }).waitFor();
    }
  });

  await step("what its person says of themselves is a guess, and what they ask to remember is their word", async () => {
    await session(token, "tea", [{ id: "1", role: "user", content: "Ich heiße Kim. Remember that I take my tea without sugar." }]);
    await untilOpened(page, `${url}/memory`, "both are kept", async () => (await rows.count()) === 2);
    assert.match(await rows.filter({ hasText: "Ich heiße Kim." }).innerText(), /a guess/);
    assert.match(await rows.filter({ hasText: "tea without sugar" }).innerText(), /stated by you/);
    await lookAt(page, "memory-guess", javaScriptEnabled);
    await page.goto(`${url}/learned`);
    await lookAt(page, "learned-guess", javaScriptEnabled);
    await openSession(page, url, "tea");
    await lookAt(page, "session-guess", javaScriptEnabled);
  });

  await step("the guess goes when a model has read its conversation", async () => {
    const model = await startModel();
    t.after(() => model.stop());
    model.state.answer = () => [];
    await useChat(page, url, model.url);
    await untilOpened(page, `${url}/memory`, "the guess is gone", async () => (await rows.count()) === 1);
    await rows.filter({ hasText: "tea without sugar" }).waitFor();
  });
}

async function sessions(t, { javaScriptEnabled }) {
  const model = await startModel();
  t.after(() => model.stop());
  const { url, session, page, complaints, step } = await begin(t, { javaScriptEnabled });
  let token;

  model.state.answer = (told) => {
    if (told.includes("oolong")) {
      return [
        fact("preferences", "tea", "Drinks oolong in the morning", "user_explicit", "I drink oolong in the morning"),
        fact("technical", "os", "Runs Debian 13", "tool_call", "PRETTY_NAME=Debian GNU/Linux 13"),
      ];
    }
    return told.includes("nonsense") ? "I would be glad to help!" : [];
  };

  await step("without a model the ledger says why nothing was read", async () => {
    token = await makeAgent(page, url, "claude-code");
    await session(token, "before", [{ id: "1", role: "user", content: "Hello." }]);
    await openSession(page, url, "before");
    await ledgerSays(page, /^Skipped: .*no chat model/);
    await lookAt(page, "session-skipped", javaScriptEnabled);
  });

  await step("once there is one, it is read again", async () => {
    await page.goto(`${url}/settings/chat`);
    await page.getByLabel("Use this endpoint").check();
    await page.getByLabel("URL").first().fill(model.url);
    await page.getByLabel("Model", { exact: true }).first().fill("scripted");
    await page.getByRole("button", { name: "Save" }).first().click();
    await openSession(page, url, "before");
    await page.getByRole("button", { name: "Read again" }).click();
    await page.waitForURL(/\/sessions\/\d+$/);
    await ledgerSays(page, "Nothing worth storing.");
    assert.equal(await page.getByRole("button", { name: "Read again" }).count(), 0);
    assert.equal(model.state.asked, 1);
  });

  await step("a session ends in the ledger, with what came of it and what it cost", async () => {
    await session(token, "tea-time", conversation());
    await openSession(page, url, "tea-time");
    await ledgerSays(page, "Stored 2.");
    assert.match(await page.locator(".ledger").innerText(), /scripted-1[\s\S]*tokens in/);
    await page.getByRole("heading", { name: "2 memories extracted" }).waitFor();
    await page.goto(`${url}/sessions`);
    const row = page.locator("[data-row]").filter({ hasText: "tea-time" });
    assert.match(await row.innerText(), /Stored 2\./);
    await lookAt(page, "sessions-list", javaScriptEnabled);
  });

  await step("from a memory to the very message, and from there back to it", async () => {
    await openMemory(page, url, "oolong");
    const item = page.url().split("?")[0];
    assert.match(await page.locator("blockquote.quote").innerText(), /I drink oolong in the morning/);
    await lookAt(page, "item-of-session", javaScriptEnabled);
    await page.getByRole("link", { name: "View conversation" }).click();
    await page.waitForURL(/\/sessions\/\d+\?from=\d+#m131$/);
    const message = page.locator("#m131");
    assert.match(await message.innerText(), /I drink oolong in the morning/);
    assert.ok(await message.evaluate((one) => one.matches(":target")), "the browser goes to it");
    await lookAt(page, "session-at-message", javaScriptEnabled, false);
    await message.getByRole("link", { name: /^memory \d+$/ }).click();
    await page.waitForURL(`${item}*`);
  });

  await step("from the session to its memories, and to the message of each", async () => {
    await openSession(page, url, "tea-time");
    const list = page.locator("section", { has: page.getByRole("heading", { name: /extracted/ }) });
    assert.deepEqual(await list.locator(".row-link").allInnerTexts(), ["tea: Drinks oolong in the morning", "os: Runs Debian 13"]);
    assert.equal(await list.locator("li.row").filter({ hasText: "active" }).count(), 2);
    await list.getByRole("link", { name: "message 133" }).click();
    await page.waitForURL(/#m133$/);
    assert.match(await page.locator("#m133").innerText(), /Debian GNU\/Linux 13/);
    await page.goto(page.url().split("?")[0]);
    await lookAt(page, "session", javaScriptEnabled);
  });

  await step("what failed says why and when it is tried, and is read again at once when its person says so", async () => {
    await session(token, "talk", [{ id: "1", role: "user", content: "Some nonsense." }]);
    await openSession(page, url, "talk");
    await ledgerSays(page, /^Failed: the model answered something else/);
    await page.getByText(/^Next attempt/).waitFor();
    await lookAt(page, "session-failed", javaScriptEnabled);
    const asked = model.state.asked;
    model.state.answer = () => [fact("profile", "home", "Lives in Graz", "conversation", "")];
    await page.getByRole("button", { name: "Read again" }).click();
    await ledgerSays(page, "Stored 1.");
    assert.equal(model.state.asked, asked + 1);
  });

  await step("a session is erased and its memories stay, without their words", async () => {
    await openSession(page, url, "tea-time");
    const erased = page.url().split("?")[0];
    await page.getByText("Delete permanently").click();
    await lookAt(page, "session-erase", javaScriptEnabled, false);
    await page.getByRole("button", { name: "Delete this session" }).click();
    await page.waitForURL(/\/erased\//);
    await page.getByRole("heading", { name: "One session" }).waitFor();
    await lookAt(page, "session-erased", javaScriptEnabled);
    assert.equal((await page.goto(erased)).status(), 404);
    await openMemory(page, url, "oolong");
    assert.equal(await page.locator("blockquote.quote").count(), 0);
    assert.equal(await page.getByRole("link", { name: "View conversation" }).count(), 0);
  });

  await step("another is erased with its memories", async () => {
    await openSession(page, url, "talk");
    await page.getByText("Delete permanently").click();
    await page.getByLabel("Also delete the 1 memory extracted").check();
    await page.getByRole("button", { name: "Delete this session" }).click();
    await page.waitForURL(/\/erased\//);
    await page.goto(`${url}/memory?q=Graz`);
    assert.equal(await page.locator("[data-row]").filter({ hasText: "Graz" }).count(), 0);
    await page.goto(`${url}/data`);
    assert.equal(await page.getByRole("link", { name: "One session" }).count(), 2);
  });

  // Without JavaScript Chromium complains that the islands were fetched and not run.
  if (javaScriptEnabled) assert.deepEqual(complaints, []);
}

function conversation() {
  const before = Array.from({ length: BEFORE }, (_, n) => ({ id: `b${n}`, role: n % 2 ? "assistant" : "user", content: `Small talk, part ${n + 1}.` }));
  return [
    ...before,
    { id: "tea", role: "user", content: "By the way, I drink oolong in the morning. What do I run?" },
    { id: "call", role: "assistant", content: "", tool_calls: [{ id: "c1", name: "shell", arguments: '{"command":"cat /etc/os-release"}' }] },
    { id: "result", role: "tool", tool_call_id: "c1", content: "PRETTY_NAME=Debian GNU/Linux 13" },
    { id: "told", role: "assistant", content: "You run Debian 13." },
  ];
}

/** The turns of the same words are found beside it, and before it until it has its vector. */
async function openMemory(page, url, word) {
  const row = page.locator('[data-row] a[href*="/memory/"]').filter({ hasText: word });
  await untilOpened(page, `${url}/memory?q=${word}`, `${word} is found`, async () => (await row.count()) > 0);
  await row.click();
  await page.waitForURL(/\/memory\/\d+/);
}

async function openSession(page, url, name) {
  await page.goto(`${url}/sessions`);
  await page.locator("[data-row] a").filter({ hasText: name }).first().click();
  await page.waitForURL(/\/sessions\/\d+/);
}

/** Looks again until the newest entry of the ledger says this. */
async function ledgerSays(page, words) {
  const says = page.locator(".ledger li").last().getByText(words, { exact: typeof words === "string" });
  await until(page, `the ledger says ${words}`, async () => (await says.count()) > 0 || void (await page.reload()));
}
