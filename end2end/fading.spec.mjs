// Settings › Fading: what would go, kept by a click; what has faded, brought back by one; how fast, as settings and as a
// picture.

import assert from "node:assert/strict";
import { begin, lookAt, makeAgent, scenario } from "./browser.mjs";

const DAY_MS = 86_400_000;
const daysAgo = (days) => new Date(Date.now() - days * DAY_MS).toISOString();

function item(id, content, days, more = {}) {
  const used = daysAgo(days);
  return { record: "item", id, type: "other", theme: "home", content, confidence: 70, created_at: used, last_accessed: used, access_count: id, ...more };
}

scenario("fading", fading);

async function fading(t, { javaScriptEnabled }) {
  const { url, sql, email, page, complaints, step } = await begin(t, { javaScriptEnabled });
  const look = (name) => lookAt(page, name, javaScriptEnabled);
  const idOf = (words) => sql(`SELECT id FROM memory_items WHERE content LIKE '%${words}%' AND user_id = (SELECT id FROM users WHERE email = '${email}')`);
  const press = (name) => page.getByRole("button", { name, exact: true }).click();

  await step("before anything is remembered the page says how it works", async () => {
    await page.goto(`${url}/settings/fading`);
    await page.getByText("No memories yet.").waitFor();
    await page.getByText("Nothing has faded.").waitFor();
    await look("fading-empty");
  });

  await step("what would go is told before it does, and kept by a click", async () => {
    const lines = [
      { keepsake_export: 1, exported_at: daysAgo(0) },
      item(1, "The kettle in the kitchen is blue.", 400),
      item(2, "The tram to Freiburg leaves from platform two.", 300),
      item(3, "Prefers the window seat on trains.", 10, { type: "preference" }),
      item(4, "The old printer needs a new drum.", 500, {
        status: "archived",
        events: [
          { event: "added", at: daysAgo(500) },
          { event: "faded", at: daysAgo(100) },
        ],
      }),
      { record: "end", counts: { items: 4 } },
    ];
    const buffer = Buffer.from(`${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
    await page.goto(`${url}/data`);
    await page.getByLabel("File", { exact: true }).setInputFiles({ name: "memory.jsonl", mimeType: "application/x-ndjson", buffer });
    // Without this they would all have been used today.
    await page.getByLabel(/^I vouch for this file/).check();
    await press("Import");
    await page.locator("[data-progress-line]").filter({ hasText: /^4 memories added/ }).waitFor();
    await page.goto(`${url}/settings/fading`);
    await page.getByText("Of 3 memories, 2 are archived on the next night (every day at 04:00).").waitFor();
    await look("fading");
    await press("Switch off");
    await page.getByText("2 would be archived").waitFor();
    const kettle = await idOf("kettle");
    await press(`Keep memory ${kettle}`);
    await page.getByText(`Memory ${kettle} never fades.`).waitFor();
    await page.getByText("Of 3 memories, 1 would be archived").waitFor();
    await press("Switch on");
  });

  await step("what has faded comes back by a click", async () => {
    const printer = await idOf("printer");
    await press(`Restore memory ${printer}`);
    await page.getByText(`Memory ${printer} is active again.`).waitFor();
    await page.getByText("Nothing has faded.").waitFor();
  });

  await step("half-lives are set, and what is no number is refused beside its field", async () => {
    await page.getByLabel("Other", { exact: true }).fill("soon");
    await press("Save");
    await page.getByText("`other` is not a number of days").waitFor();
    assert.equal(await page.getByLabel("Other", { exact: true }).inputValue(), "soon");
    await look("fading-refused");
    await page.getByLabel("Other", { exact: true }).fill("");
    await press("Save");
    await page.getByText("Saved.").waitFor();
    await page.getByText("Of 4 memories, 0 are archived").waitFor();
    await page.getByText("other never").waitFor();
  });

  await step("a memory's page tells how strong it is, and has a half-life of its own", async () => {
    await makeAgent(page, url, "claude-code");
    await page.goto(`${url}/memory/${await idOf("window seat")}`);
    await page.getByText("used 3 times").waitFor();
    await page.locator("#manage summary").click();
    await page.getByLabel("Half-life in days").fill("7");
    await look("fading-item");
    await press("Set");
    await page.locator("#manage summary").click();
    assert.equal(await page.getByLabel("Half-life in days").inputValue(), "7");
    await press("Default of its type");
    await page.locator("#manage summary").click();
    assert.equal(await page.getByLabel("Half-life in days").inputValue(), "360");
  });

  // Without JavaScript Chromium complains that the islands were fetched and not run.
  if (javaScriptEnabled) assert.deepEqual(complaints, []);
}
