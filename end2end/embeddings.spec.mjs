// From the builtin model to an endpoint of one's own: tested, asked about,
// confirmed, watched, cancelled. The same way with JavaScript and without.

import assert from "node:assert/strict";
import { awake, begin, makeAgent, mark, scenario, until as looks } from "./browser.mjs";
import { startEndpoint } from "./endpoint.mjs";

const ITEMS = 40;

scenario("from the builtin model to an endpoint of one's own", embeddings, "nothing renews the page while memories are rebuilt");

async function embeddings(t, { javaScriptEnabled }) {
  const endpoint = await startEndpoint();
  t.after(() => endpoint.stop());
  const { url, tool, context, page, step } = await begin(t, { javaScriptEnabled });
  const settings = `${url}/settings/embeddings`;
  const press = (name) => page.getByRole("button", { name, exact: true }).click();
  let token, archived;

  const fill = async (model) => {
    await page.goto(settings);
    if (javaScriptEnabled) await awake(page);
    await page.locator("[name=own_enabled]").check({ force: true });
    await page.locator("[name=url]").fill(endpoint.url);
    await page.locator("[name=model]").fill(model);
    const pace = page.locator("details", { has: page.locator("[name=batch_size]") }).last();
    if (!(await pace.evaluate((d) => d.open))) await pace.locator("summary").first().click();
    await page.locator("[name=batch_size]").fill("4");
  };
  // With JavaScript the page follows by itself.
  const until = (what, isSo) => looks(page, what, async () => (await isSo()) || (!javaScriptEnabled && void (await page.goto(settings))));
  const line = () => page.locator("[data-progress-line]").first().textContent();
  const allReady = async () => /^All \d+ memories ready/.test(((await line()) ?? "").trim());

  await step("out of the box memories get their vectors from the builtin model", async () => {
    token = await makeAgent(page, url, "claude-code");
    for (let n = 1; n <= ITEMS; n += 1) {
      const { id, embedding } = await tool(token, "memory_add", { type: "fact", content: `Bicycle number ${n} leans on the green wall of the old shed.` });
      assert.equal(embedding, "pending");
      archived = id;
    }
    await tool(token, "memory_archive", { item_id: archived });
    await page.goto(settings);
    await page.getByRole("heading", { name: "Builtin model" }).waitFor();
    await until("the builtin model", allReady);
    const found = await tool(token, "memory_search", { query: "a two-wheeled vehicle", limit: 3 });
    assert.equal(found.mode, "hybrid");
    assert.ok(found.results.every((hit) => hit.signals.semantic));
  });

  await step("Test tells a dead endpoint from a live one, and keeps nothing", async () => {
    await fill("first-model");
    await page.locator("[name=url]").fill("http://127.0.0.1:9/v1");
    await press("Test");
    await page.getByRole("heading", { name: "The endpoint cannot be reached" }).waitFor();
    assert.equal(await page.locator("[name=url]").inputValue(), "http://127.0.0.1:9/v1");
    await page.locator("[name=url]").fill(endpoint.url);
    await press("Test");
    await page.getByRole("heading", { name: /^Works: 64 dimensions/ }).waitFor();
    await page.goto(settings);
    assert.equal(await page.locator("[name=url]").inputValue(), "");
  });

  await step("Save asks first, with the number, and changes nothing", async () => {
    endpoint.state.texts = 0;
    await fill("first-model");
    await press("Save");
    await page.locator(".ask").getByText(`${ITEMS} memories will be rebuilt with first-model`).waitFor();
    await page.goto(settings);
    await page.getByRole("heading", { name: "Builtin model" }).waitFor();
    assert.equal(endpoint.state.texts, 0);
  });

  await step("Confirm rebuilds all of them, archived ones too, while a bar shows how far it is", async () => {
    endpoint.state.delayMs = 250;
    await fill("first-model");
    await page.locator("[name=key]").fill("sk-never-shown");
    await press("Save");
    await page.locator(".ask").waitFor();
    await press("Confirm");
    await page.waitForURL(settings);
    const stillSame = javaScriptEnabled && (await mark(page));
    await until("a bar", async () => /^\d+ of 40/.test(((await line()) ?? "").trim()));
    const work = await context.newPage();
    await work.goto(`${url}/settings/work`);
    await work.getByText(/^\d+ of 40 memories embedded$/).waitFor();
    assert.equal((await tool(token, "memory_search", { query: "bicycle", limit: 1 })).mode, "hybrid");
    await until("the rebuild", allReady);
    if (stillSame) await stillSame();
    if (!javaScriptEnabled) await work.reload();
    await work.locator("[data-progress-line]", { hasText: "No work under way." }).waitFor();
    await work.close();
    await page.getByRole("heading", { name: "Your endpoint" }).waitFor();
    const item = await tool(token, "memory_get", { item_id: archived });
    assert.deepEqual([item.embedding.state, item.embedding.model], ["ready", "first-model"]);
    await page.goto(settings);
    assert.ok(!(await page.content()).includes("sk-never-shown"));
  });

  await step("Cancel leaves what serves as it was", async () => {
    endpoint.state.delayMs = 1_000;
    await fill("second-model");
    await press("Save");
    await press("Confirm");
    await page.waitForURL(settings);
    await page.locator("#cancel").click();
    await page.getByText("The rebuild is cancelled. Search keeps the old embeddings.").waitFor();
    const item = await tool(token, "memory_get", { item_id: archived });
    assert.deepEqual([item.embedding.state, item.embedding.model], ["ready", "first-model"]);
  });

  await step("the state of the vector and the parts of the score are on the pages", async () => {
    endpoint.state.delayMs = 0;
    await page.goto(`${url}/memory/${archived}?q=bicycle`);
    await page.getByText("first-model").first().waitFor();
    await page.goto(`${url}/memory?q=bicycle`);
    await page.locator("[data-row]").first().waitFor();
    await page.locator("[data-row] button").first().click();
    await page.locator("[popover]").filter({ visible: true }).first().waitFor();
    await page.goto(`${url}/memory?embedding=error`);
    assert.equal(await page.locator("[data-row]").count(), 0);
    await page.goto(`${url}/memory?embedding=ready`);
    assert.ok((await page.locator("[data-row]").count()) > 0);
  });

  await step("while a memory is pending one line above the list says so, and no row is marked", async () => {
    const release = endpoint.hold();
    await tool(token, "memory_add", { type: "fact", content: "Bicycle number 41 is on its way." });
    await page.goto(`${url}/memory`);
    const waiting = page.locator("[data-live=embedding]");
    await waiting.getByText(/of 41 memories.*keyword search works meanwhile/).waitFor();
    assert.ok((await page.locator("[data-row]").count()) > 0);
    assert.equal(await page.locator("[data-row] .mark-state").count(), 0);
    release();
    await until("the line goes", async () => {
      if (!javaScriptEnabled) await page.goto(`${url}/memory`);
      return (await waiting.locator("svg").count()) === 0;
    });
  });

  await step("switched off, every answer says so", async () => {
    await page.goto(settings);
    const off = page.locator("details", { has: page.locator("button[value=disable]") }).last();
    await off.locator("summary").first().click();
    await page.locator("button[value=disable]").click();
    await page.getByText("Embeddings are off: search uses keywords only.").first().waitFor();
    const found = await tool(token, "memory_search", { query: "bicycle" });
    assert.equal(found.mode, "fts");
    assert.match(found.degraded, /switched off/);
    await page.goto(`${url}/memory?q=bicycle`);
    await page.getByText(/Embeddings are switched off/).waitFor();
  });
}
