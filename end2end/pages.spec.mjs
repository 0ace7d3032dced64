// Every page, in light and dark, on a desk and on a phone: no accessibility violation, and nothing to scroll sideways, with
// JavaScript or without.

import assert from "node:assert/strict";
import { test } from "node:test";
import { begin, gone, makeAgent, problems, unfold, untilOpened, useChat, withoutJavaScript } from "./browser.mjs";
import { startChat } from "./endpoint.mjs";

test("every page is accessible and fits a phone", async (t) => {
  const anna = await begin(t, { reducedMotion: "reduce" });
  const { url, tool, session, context, page, id: own } = anna;
  const plain = await withoutJavaScript(anna);

  const passes = (name, arrive) =>
    t.test(name, async () => {
      await (typeof arrive === "string" ? page.goto(url + arrive) : arrive());
      await unfold(page);
      assert.deepEqual(await problems(page, true), []);
      if (typeof arrive !== "string") return;
      await plain.goto(url + arrive);
      await unfold(plain);
      assert.deepEqual((await problems(plain, false)).map((one) => `${one}, without JavaScript`), []);
    });

  await passes("memory, empty", "/memory");
  await passes("activity, none", "/activity");
  await passes("used and unused, none", "/used");
  await passes("sessions, none", "/sessions");
  await passes("agents, none", "/agents");
  let token;
  await passes("agents, with a new token", async () => {
    token = await makeAgent(page, url, "claude-code on the laptop");
  });
  await passes("agents, with an error", async () => {
    await page.getByLabel("Name", { exact: true }).fill("no scope");
    for (const box of await page.locator("form[action$='/agents'] [name=scope]").all()) await box.uncheck();
    await page.getByRole("button", { name: "Create agent" }).click();
    await page.locator(".error").first().waitFor();
  });

  const id = await fill(tool, token);
  await passes("agents", "/agents");
  await passes("agents, one open", () => page.locator(".agent > summary").first().click());
  await passes("memory", "/memory");
  await passes("memory, searched and filtered", "/memory?q=tea&type=preference&theme=food&status=all");
  await passes("memory, nothing matches", "/memory?q=zeppelin&theme=nowhere");
  await passes("memory, filtered by vector", "/memory?embedding=error&status=all");
  await passes("memory, a score taken apart", async () => {
    await page.goto(`${url}/memory?q=tea`);
    await page.locator("button.score").first().press("Enter");
    await page.getByText("Score breakdown").first().waitFor();
  });
  await passes("item", `/memory/${id}`);
  await passes("item, asked why", `/memory/${id}?q=tea`);
  const decides = async (of, name) => {
    await page.goto(`${url}/memory/${of}`);
    await page.getByText("Manage", { exact: true }).click();
    await page.getByRole("button", { name, exact: true }).click();
  };
  await passes("item, archived, with Undo and all that can be done", async () => {
    await decides(id, "Archive");
    await page.getByText("You archived this memory.").waitFor();
    await page.getByText("Manage", { exact: true }).click();
  });
  // It may be gone before all of its page is looked at: what follows needs another.
  const { id: leaving } = await tool(token, "memory_add", { type: "fact", content: "The tea is cold.", theme: "food" });
  await passes("item, being deleted", async () => {
    await decides(leaving, "Delete permanently");
    await page.getByText("in ten seconds").waitFor();
  });
  const kept = await page.request.post(`${url}/memory/${id}`, { form: { action: "restore" }, headers: { origin: new URL(url).origin } });
  assert.equal(kept.status(), 200);
  const add = async (content) => (await tool(token, "memory_add", { type: "fact", content, theme: "food", key: "bread" })).id;
  const older = await add("Bread is baked on Fridays.");
  const newer = await add("Bread is baked on Mondays.");
  await passes("item, replaced by a newer one", async () => {
    await decides(older, "Restore");
    await page.locator(".ask").waitFor();
  });
  await tool(token, "memory_archive", { item_id: newer });
  await session(token, "trip-to-oslo", conversation());
  await passes("sessions", "/sessions");
  await passes("sessions, no such session", "/sessions?state=open&outcome=failed");
  await passes("session", async () => {
    await page.goto(`${url}/sessions`);
    await page.locator("[data-row] a").first().click();
    await page.locator("#m4").waitFor();
  });
  await passes("session, all of it", async () => {
    // The check of the page before has unfolded everything.
    await page.reload();
    for (const fold of await page.locator(".said summary").all()) await fold.press("Enter");
    await page.getByText("window seat 49").waitFor();
  });
  await passes("session, past its end", async () => {
    await page.goto(`${page.url()}?from=99`);
    await page.getByText("There are no messages after that.").waitFor();
  });
  await passes("summary, without a model", "/summary");
  await passes("summary", async () => {
    const chat = await startChat("The user prefers tea, and other things besides. ".repeat(12) + `\n\nThe user likes ${"unbreakable".repeat(40)}.`);
    t.after(() => chat.stop());
    await useChat(page, url, chat.url);
    await gone(page, `${url}/memory/${leaving}`); // or it is counted
    await page.goto(`${url}/summary`);
    await page.getByRole("button", { name: "Write now" }).click();
    await untilOpened(page, `${url}/summary`, "the summary is written", async () => (await page.getByText("Sources").count()) > 0);
    await page.getByText("Based on 28 memories.").waitFor();
  });
  await passes("activity", "/activity");
  await passes("activity, filtered", `/activity?item=${id}&tool=memory_search&days=7`);
  await passes("activity, of a day and a theme", async () => {
    await page.goto(`${url}/activity`);
    const today = new Date().toISOString().slice(0, 10);
    const bar = page.locator(".days a").last();
    assert.match(await bar.getAttribute("aria-label"), /: \d+ calls/);
    assert.equal(await bar.getAttribute("href"), `${url}/activity?day=${today}`.slice(new URL(url).origin.length));
    await page.goto(`${url}/activity?day=${today}&theme=food`);
    await page.getByText("theme: food").waitFor();
  });
  await passes("used and unused", async () => {
    await page.goto(`${url}/activity`);
    await page.getByRole("link", { name: "Used and unused memories" }).click();
    await page.getByRole("link", { name: /calls?: .*, food/ }).waitFor();
    await page.getByRole("heading", { name: "Most used" }).waitFor();
  });
  await passes("activity, no such call", "/activity?tool=memory_archive&outcome=failed");
  await passes("activity, with the words of searches", async () => {
    await page.goto(`${url}/activity`);
    await page.getByRole("button", { name: "Log search queries" }).click();
    await tool(token, "memory_search", { query: `tea ${"unbreakable".repeat(20)}` });
    await untilOpened(page, `${url}/activity`, "the call is recorded", async () => (await page.locator("q").count()) > 0);
  });
  await passes("embeddings", "/settings/embeddings");
  await passes("chat model", "/settings/chat");
  await passes("chat model, all unfolded", async () => {
    await page.goto(`${url}/settings/chat`);
    for (const fold of await page.locator("main summary").all()) await fold.press("Enter");
  });
  await passes("embeddings, all unfolded", async () => {
    await page.goto(`${url}/settings/embeddings`);
    for (const fold of await page.locator("main summary").all()) await fold.press("Enter");
  });
  await passes("admin", "/admin");
  await passes("admin, with a new service token", async () => {
    await page.goto(`${url}/admin`);
    await page.locator("summary", { hasText: "New operator" }).press("Enter");
    await page.getByLabel("Name", { exact: true }).fill(`support-bot-${own}`);
    await page.getByRole("button", { name: "Create operator" }).click();
    await page.locator(".fresh").waitFor();
  });
  await passes("admin, with an operator", "/admin");
  await passes("backups", "/admin/backups");
  await passes("jobs", "/admin/jobs");
  let invitation;
  await passes("users, with a new invitation", async () => {
    await page.goto(`${url}/admin/users`);
    await page.getByLabel("E-mail address (optional)").fill(`${"a-long-name-".repeat(8)}@example.com`);
    await page.getByRole("button", { name: "Create invitation" }).click();
    invitation = await page.locator(".fresh code").textContent();
  });
  await passes("users", "/admin/users");
  await passes("users, nobody found", "/admin/users?q=zeppelin&operator=1&external_id=nobody");
  await passes("an invitation", () => page.goto(invitation));
  await passes("an invitation that is over", "/invitation/over");
  await passes("a reset link that is over", "/reset/over");
  await passes("account, memory switched off", async () => {
    await page.goto(`${url}/account`);
    await page.getByRole("button", { name: "Switch memory off" }).click();
    await page.getByRole("button", { name: "Switch memory on" }).waitFor();
  });
  await passes("agents, memory switched off", "/agents");
  await passes("item that is not there", "/memory/999999999");
  await passes("account", "/account");
  await passes("learned", "/learned");
  await passes("dreams", "/dreams");
  await passes("timeline", "/timeline");
  await passes("memory, on another day", "/memory?as_of=2026-03-03");
  await passes("fading", "/settings/fading");
  await passes("webhooks", "/settings/webhooks");
  await passes("secrets", "/settings/secrets");
  await passes("background work", "/settings/work");
  await passes("entities", "/entities");
  await passes("entity that is not there", "/entities/999999999");
  await passes("graph", "/graph");
  await passes("documents", "/documents");
  await passes("document that is not there", "/documents/999999999");
  await passes("session that is not there", "/sessions/999999999");
  await passes("your data", "/data");
  await passes("delete everything about", "/data/about");
  await passes("a receipt that is not there", "/erased/over");
  await passes("a team link that is over", "/team/over");
  await passes("404", "/nothing-here");
  await context.clearCookies();
  await plain.context().clearCookies();
  await passes("login", "/login?next=%2Fagents");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await passes("documentation, for a stranger", "/docs");
  await passes("login, refused", async () => {
    await page.goto(`${url}/login`);
    await page.getByLabel("E-mail address").fill("nobody@example.com");
    await page.getByLabel("Password", { exact: true }).fill("not the password");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator(".error").first().waitFor();
  });
});

/** Items of every kind, one of them hard to lay out; returns the id of that one. */
async function fill(tool, token) {
  const add = (type, content, theme, tags) => tool(token, "memory_add", { type, content, theme, tags });
  for (let n = 0; n < 27; n++) {
    await add(["preference", "fact", "instruction", "summary"][n % 4], `Entry ${n} about tea and other things.`, ["food", "work"][n % 2], ["tag"]);
  }
  const { id: archived } = await add("fact", "An old tea shop, archived.", "food", []);
  await tool(token, "memory_archive", { item_id: archived });
  const long = `Prefers tea. ${"unbreakable".repeat(40)} https://example.com/${"path/".repeat(40)}`;
  const { id } = await add("preference", long, "food", ["a-long-tag-".repeat(5), "short"]);
  await tool(token, "memory_search", { query: "tea", limit: 50 });
  await tool(token, "memory_get", { item_id: id });
  await tool(token, "memory_list_themes", {});
  await tool(token, "memory_get", { item_id: 999999999 }).catch(() => {});
  return id;
}

/** Everything that a transcript can show. */
function conversation() {
  const call = { id: "c1", type: "function", function: { name: "seats", arguments: '{"row":12}' } };
  const seats = Array.from({ length: 50 }, (_, n) => `window seat ${n}`).join("\n");
  return [
    { id: "1", role: "user", content: "Which seats are free?" },
    { id: "2", role: "assistant", content: null, tool_calls: [call] },
    { id: "3", role: "tool", tool_call_id: "c1", content: seats },
    { id: "4", role: "assistant", content: "All of these:\n\n    12A\n    12F" },
  ];
}
