// Learned: what was stored is kept, forgotten or confirmed, by keys or by buttons. Dreams: what sessions were about becomes a
// document, and proposals are accepted and undone. Then the lineage of what was read, and the Timeline.

import assert from "node:assert/strict";
import { awake, begin, lookAt, makeAgent, scenario, until, untilOpened, useChat } from "./browser.mjs";
import { startModel } from "./model.mjs";

const TALKS = [
  "I am Anna, and I sold one of my hives to Marta Helgesen this morning.",
  "I always prefer linden honey over clover honey, whatever it costs.",
  "My bees need a new queen before the summer, says the vet in Graz.",
  "The shed behind the house is where I keep all my honey jars now.",
  "Marta Helgesen helps me every Friday with the hives in the garden.",
];
const WROTE =
  "## Preferences\n- Anna prefers linden honey over clover honey.\n## Key decisions\n- Anna sold one of her hives to Marta Helgesen.";

/** Two pairs of memories, by their places in the list that the model is shown. */
function pairs(told) {
  const place = (words) => Number(told.split("\n").find((line) => line.includes(words))?.match(/(\d+)\./)[1]);
  const pair = (kind, first, second, why) => ({ kind, first: place(first), second: place(second), why });
  return JSON.stringify({
    pairs: [
      pair("supersede", "three hives", "two hives", "Two hives came after three hives."),
      pair("merge", "prefers linden", "likes best", "Both say that linden honey is best."),
    ],
  });
}

scenario("what was learned", learned, "it is decided by buttons, not keys");
scenario("dreams", dreams);

async function learned(t, { javaScriptEnabled }) {
  const { url, tool, page, complaints, step } = await begin(t, { javaScriptEnabled });
  const look = (name) => lookAt(page, name, javaScriptEnabled);
  const press = (name) => page.getByRole("button", { name, exact: true }).click();
  /** Of the first memory in the list: its key, or its button. */
  const decide = async (key, button) => {
    if (!javaScriptEnabled) return press(button);
    await awake(page);
    await page.locator("[data-row]").first().getByRole("button").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press(key);
  };

  await step("what was learned is looked through", async () => {
    await page.goto(`${url}/learned`);
    await look("learned-empty");
    const token = await makeAgent(page, url, "claude-code");
    const add = (content) => tool(token, "memory_add", { type: "fact", theme: "hobbies", content, source: "conversation" });
    const kept = (await add("Anna took up beekeeping.")).id;
    const confirmed = (await add("Anna bought two bee books.")).id;
    const forgotten = (await add("The build printed 14 warnings.")).id;
    await page.goto(`${url}/memory`);
    await page.locator("a[href$='/learned']", { hasText: "3" }).waitFor();
    await page.goto(`${url}/learned`);
    await look("learned");
    await decide("x", `Forget memory ${forgotten}`);
    await page.getByText("similar ones are no longer stored").waitFor();
    await look("learned-forgotten");
    if (javaScriptEnabled) {
      await awake(page);
      const sent = await page.evaluate(() => {
        const stop = (event) => {
          event.preventDefault();
          document.isSent = true;
        };
        document.addEventListener("submit", stop);
        const tell = (repeat) => {
          document.isSent = false;
          document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "y", repeat, bubbles: true }));
          return document.isSent;
        };
        const sent = [tell(true), tell(false)];
        document.removeEventListener("submit", stop);
        return sent;
      });
      assert.deepEqual(sent, [false, true], "a key that is held decides nothing more");
    }
    await decide("c", `Confirm memory ${confirmed}`);
    await page.getByText(`Memory ${confirmed} is confirmed`).waitFor();
    await decide("y", `Keep memory ${kept}`);
    await until(page, "all are looked at", async () => (await page.locator("[data-row]").count()) === 0);
    await press(`Restore memory ${forgotten}`);
    await page.getByText(`Memory ${forgotten} is active again.`).waitFor();
    await page.getByLabel("Such as").fill("What a build printed");
    await press("Add");
    await page.getByText("What a build printed", { exact: true }).waitFor();
    await press("Remove from the list");
    await page.getByText("Nothing yet.").waitFor();
  });

  // Without JavaScript Chromium complains that the islands were fetched and not run.
  if (javaScriptEnabled) assert.deepEqual(complaints, []);
}

async function dreams(t, { javaScriptEnabled }) {
  const model = await startModel();
  t.after(() => model.stop());
  const { url, tool, session, sql, email, page, complaints, step } = await begin(t, { javaScriptEnabled });
  const look = (name) => lookAt(page, name, javaScriptEnabled);
  const press = (name) => page.getByRole("button", { name, exact: true }).click();
  const own = `user_id = (SELECT id FROM users WHERE email = '${email}')`;

  await step("five sessions become a dream, which proposes", async () => {
    const token = await makeAgent(page, url, "claude-code");
    await page.goto(`${url}/dreams`);
    await look("dreams-empty");
    for (const [n, content] of TALKS.entries()) await session(token, `s${n}`, [{ id: "1", role: "user", content }]);
    await until(page, "the sessions are read", async () => (await sql(`SELECT count(*) FROM episodes WHERE ${own}`)) === "5");
    const add = (content) => tool(token, "memory_add", { type: "fact", theme: "bees", content, source: "conversation" });
    await add("Anna keeps three hives in the garden");
    await add("Anna keeps two hives in the garden");
    await add("Anna prefers linden honey");
    await add("Linden honey is what Anna likes best");
    model.state.answer = (told) => (/\d+\. \(/.test(told) ? pairs(told) : WROTE);
    await useChat(page, url, model.url);
    // Ten minutes later.
    await sql(`UPDATE episodes SET kept_at = kept_at - interval '12 minutes' WHERE ${own}`);
    await page.goto(`${url}/admin/jobs`);
    await press("Run now Dreaming");
    await untilOpened(page, `${url}/dreams`, "a dream is there", async () => (await page.locator(".dream").count()) === 1);
    for (const told of ["Anna prefers linden honey over clover honey.", "Two hives came after three hives."]) {
      await page.getByText(told).first().waitFor();
    }
    await look("dreams");
  });

  await step("what it proposes is accepted, and taken back", async () => {
    await press("Accept 2");
    await page.getByText("2 changes were made; they can be undone.").waitFor();
    await look("dreams-accepted");
    await page.goto(`${url}/timeline`);
    await page.locator("a[href*='/dreams?before='][href*='#dream-']").first().waitFor();
    await look("timeline-dreams");
    await page.goto(`${url}/dreams`);
    await press("Undo all 2 changes");
    await page.getByText("2 changes were undone.").waitFor();
  });

  await step("the page of an episode shows what it was told of, and the dream", async () => {
    await page.goto(`${url}/memory/${await sql(`SELECT min(source_id) FROM episodes WHERE ${own}`)}`);
    const graph = page.getByRole("group", { name: "Connections" });
    await graph.getByRole("link", { name: /^session/ }).waitFor();
    await look("lineage");
    await graph.getByRole("link", { name: /^dream/ }).click();
    await page.getByRole("heading", { name: /consolidated/ }).first().waitFor();
  });

  // Without JavaScript Chromium complains that the islands were fetched and not run.
  if (javaScriptEnabled) assert.deepEqual(complaints, []);
}
