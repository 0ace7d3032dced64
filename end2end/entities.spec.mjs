// From a conversation to entities, one entity with its relations along time, and the graph; what a person decides about
// them.

import assert from "node:assert/strict";
import { awake, begin, lookAt, makeAgent, scenario, untilOpened, useChat, withoutJavaScript } from "./browser.mjs";
import { startModel } from "./model.mjs";

const TYPES = {
  person: ["Anna Berger", "Benedikt Huber", "Clara Novak", "Dmitri Orlov", "Eva Lindqvist", "Farid Rahimi", "Greta Moser", "Hugo Santos", "Ines Carvalho", "Jonas Weber", "Katharina Vogel-Steinhauser"],
  organization: ["Acme GmbH", "Northwind Foundation", "Technische Universität Graz", "Blue Harbor Press"],
  project: ["Project Aurora", "Project Lighthouse", "Project Beacon"],
  location: ["Lyon", "Graz", "Porto", "Stockholm", "Tromsø", "Steiermark"],
  product: ["PostgreSQL", "Nextcloud", "Leica M6"],
};

const CONNECTIONS = [
  ["user", "lives_in", "Lyon", "2015", "2023"],
  ["user", "lives_in", "Graz", "2024"],
  ["user", "works_at", "Acme GmbH", "2020"],
  ["user", "works_on", "Project Aurora", "2025-03"],
  ["user", "knows", "Anna Berger"],
  ["user", "friend_of", "Hugo Santos", "2016"],
  ["user", "uses", "PostgreSQL"],
  ["user", "owns", "Leica M6", "2019"],
  ["Anna Berger", "lives_in", "Graz", "2018"],
  ["Anna Berger", "works_at", "Northwind Foundation", "2017", "2022-06"],
  ["Anna Berger", "works_at", "Acme GmbH", "2022-07"],
  ["Anna Berger", "married_to", "Jonas Weber", "2021-09"],
  ["Anna Berger", "leads", "Project Aurora", "2025-01"],
  ["Anna Berger", "studies_at", "Technische Universität Graz", "2010", "2016"],
  ["Anna Berger", "knows", "Clara Novak"],
  ["Anna Berger", "reports_to", "Eva Lindqvist", "2023"],
  ["Benedikt Huber", "works_at", "Acme GmbH", "2019"],
  ["Benedikt Huber", "works_on", "Project Aurora"],
  ["Benedikt Huber", "works_on", "Project Lighthouse"],
  ["Benedikt Huber", "lives_in", "Graz"],
  ["Clara Novak", "works_at", "Blue Harbor Press", "2014"],
  ["Clara Novak", "lives_in", "Porto", "2020"],
  ["Clara Novak", "sibling_of", "Greta Moser"],
  ["Dmitri Orlov", "works_on", "Project Lighthouse", "2026-01"],
  ["Dmitri Orlov", "lives_in", "Tromsø"],
  ["Dmitri Orlov", "uses", "Nextcloud"],
  ["Eva Lindqvist", "leads", "Northwind Foundation", "2012", "2023"],
  ["Eva Lindqvist", "lives_in", "Stockholm"],
  ["Eva Lindqvist", "founded", "Project Lighthouse"],
  ["Farid Rahimi", "works_at", "Technische Universität Graz", "2011"],
  ["Farid Rahimi", "leads", "Project Beacon"],
  ["Greta Moser", "lives_in", "Graz", "1999"],
  ["Greta Moser", "works_at", "Technische Universität Graz", "2005", "2024"],
  ["Hugo Santos", "lives_in", "Porto"],
  ["Hugo Santos", "knows", "Clara Novak"],
  ["Ines Carvalho", "parent_of", "Hugo Santos"],
  ["Ines Carvalho", "lives_in", "Porto", "1985"],
  ["Jonas Weber", "works_at", "Blue Harbor Press", "2016"],
  ["Katharina Vogel-Steinhauser", "works_on", "Project Beacon", "2024"],
  ["Graz", "located_in", "Steiermark"],
  ["Project Beacon", "depends_on", "PostgreSQL"],
  ["Project Lighthouse", "depends_on", "Nextcloud"],
];

const sentence = ([subject, relation, object, from, until]) =>
  `${subject === "user" ? "I" : subject} ${relation.replaceAll("_", " ")} ${object}${from ? ` since ${from}` : ""}${until ? ` until ${until}` : ""}.`;

/** What the scripted model reads of a conversation. */
function read(told) {
  const entities = Object.entries(TYPES).flatMap(([type, names]) => names.filter((name) => told.includes(name)).map((name) => ({ name, type })));
  const connections = CONNECTIONS.filter((one) => told.includes(sentence(one))).map((one) => {
    const [subject, relation, object, valid_from, valid_until] = one;
    return { subject, relation, object, valid_from, valid_until, sentence: sentence(one) };
  });
  return JSON.stringify({ facts: [], entities, connections });
}

scenario("entities", entities);

async function entities(t, { javaScriptEnabled }) {
  const model = await startModel();
  t.after(() => model.stop());
  const { url, tool, session, newContext, context, page, complaints, step } = await begin(t, { javaScriptEnabled });
  model.state.answer = read;
  const look = (name) => lookAt(page, name, javaScriptEnabled);

  await step("before the first name the pages say what will be here", async () => {
    await page.getByRole("link", { name: "Entities", exact: true }).click();
    await page.getByText("No entities yet.").waitFor();
    await look("entities-none");
    await page.goto(`${url}/graph`);
    await page.getByText("Nothing is connected yet.").waitFor();
    await look("graph-none");
  });

  await step("names and connections of a conversation are listed by type", async () => {
    const token = await makeAgent(page, url, "claude-code");
    await useChat(page, url, model.url);
    const messages = CONNECTIONS.map((one, n) => ({ id: `${n}`, role: "user", content: sentence(one) }));
    await session(token, "names", messages);
    for (const content of ["Anna Berger and Clara Novak met in Porto at Blue Harbor Press.", "Anna Berger wrote to Clara Novak (clara@example.org) about Project Aurora.", "Met Anna Bergen in Graz."]) {
      await tool(token, "memory_add", { type: "fact", content });
    }
    const beacon = page.getByRole("link", { name: "Project Beacon" });
    await untilOpened(page, `${url}/entities?q=Beacon`, "the conversation is read", async () => (await beacon.count()) > 0);
    await page.goto(`${url}/entities`);
    const types = page.getByRole("navigation", { name: "Types" });
    assert.match(await types.innerText(), /person\s*\d+/);
    await look("entities");
    await types.getByRole("link", { name: /^project/ }).click();
    await page.waitForURL(/type=project/);
    assert.equal(await page.locator("[data-row]").filter({ hasText: "Anna" }).count(), 0);
    await page.getByLabel("Search by name").fill("light");
    await page.getByRole("button", { name: "Search" }).click();
    await page.waitForURL(/q=light/);
    assert.equal(await page.locator("[data-row]").count(), 1);
  });

  await step("one entity tells how it is connected, since when, and by whose word", async () => {
    await openEntity(page, url, "Anna Berger");
    const past = page.locator(".span-past").filter({ hasText: "Northwind Foundation" });
    assert.match(await past.innerText(), /works at\s+Northwind Foundation[\s\S]*stated by you/);
    await past.getByRole("link", { name: "View conversation" }).first().waitFor();
    await look("entity");
    await page.getByText("Manage", { exact: true }).click();
    await look("entity-manage");
    await page.goto(`${url}/memory?q=Bergen`);
    await page.locator("[data-row] a").first().click();
    await page.getByText(/^Names:/).waitFor();
    await look("item-names");
  });

  await step("another spelling is merged, and that is undone", async () => {
    await openEntity(page, url, "Anna Berger");
    await manage(page);
    await page.getByLabel("Merge with").fill("Anna Nobody");
    await page.getByRole("button", { name: "Merge", exact: true }).click();
    await page.getByText("No entity of your memory is called that").waitFor();
    await page.getByLabel("Merge with").fill("Anna Bergen");
    await page.getByRole("button", { name: "Merge", exact: true }).click();
    await page.getByText("Also called").waitFor();
    await page.getByText("Merged with").waitFor();
    await look("entity-merged");
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("undone").waitFor();
    assert.equal(await page.getByText("Also called").count(), 0);
  });

  await step("the graph shows who is connected, as a picture and as a table", async () => {
    await page.goto(`${url}/graph`);
    const picture = page.locator("#graph-picture");
    const names = async (within) => [...new Set(await within.locator("a").evaluateAll((all) => all.map((one) => one.getAttribute("href"))))].sort();
    assert.deepEqual(await names(picture), await names(page.locator("table.ties")));
    assert.equal(await page.locator("table.ties tbody tr").filter({ hasText: "Anna Berger" }).filter({ hasText: "Jonas Weber" }).count(), 1);
    await look("graph");
    const plain = await withoutJavaScript({ newContext, context });
    await plain.goto(page.url());
    assert.equal(await plain.locator(".graph-tools").filter({ visible: true }).count(), 0);
    await lookAt(plain, "graph", false);
    await page.getByRole("textbox", { name: "On" }).or(page.locator("#graph-at")).first().fill("2016-01-01");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await page.waitForURL(/at=2016-01-01/);
    assert.equal(await page.locator("table.ties tbody tr").filter({ hasText: "Jonas Weber" }).filter({ hasText: "married" }).count(), 0);
    await look("graph-2016");
  });

  await step("around one entity it goes as many steps as are asked for", async () => {
    await openEntity(page, url, "Anna Berger");
    await page.getByRole("link", { name: "Graph around it" }).click();
    await page.getByRole("heading", { name: "Graph around Anna Berger" }).waitFor();
    const before = await page.locator("#graph-picture a").count();
    await look("graph-around");
    await page.getByLabel("Steps").selectOption({ label: "2 steps" });
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await page.waitForURL(/depth=2/);
    assert.ok((await page.locator("#graph-picture a").count()) > before);
    const node = page.locator("#graph-picture a").filter({ hasText: "Jonas Weber" });
    await node.focus();
    assert.ok(await node.evaluate((one) => one.matches(":focus-visible")), "it can be seen where the focus is");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Jonas Weber" }).waitFor();
  });

  if (javaScriptEnabled) {
    await step("the picture is moved by wheel, keys, buttons and hand, and the day by a slider", async () => {
      await page.setViewportSize({ width: 1280, height: 860 });
      await page.goto(`${url}/graph`);
      await awake(page);
      const picture = page.locator("#graph-picture");
      const seen = async () => (await picture.getAttribute("viewBox")).split(" ").map(Number);
      const [whole] = [await seen()];
      await page.getByRole("button", { name: "Zoom in" }).click();
      const larger = await seen();
      assert.ok(larger[2] < whole[2], `${larger}`);
      await picture.hover({ position: { x: 300, y: 300 } });
      await page.mouse.wheel(0, -300);
      await page.waitForFunction((width) => Number(document.querySelector("#graph-picture").getAttribute("viewBox").split(" ")[2]) < width, larger[2]);
      const box = await picture.boundingBox();
      const before = await seen();
      await page.mouse.move(box.x + 400, box.y + 300);
      await page.mouse.down();
      await page.mouse.move(box.x + 340, box.y + 260, { steps: 4 });
      await page.mouse.up();
      const dragged = await seen();
      assert.ok(dragged[0] > before[0] && dragged[1] > before[1], `${before} ${dragged}`);
      assert.ok(page.url().startsWith(`${url}/graph`), page.url());
      await page.getByRole("button", { name: "Fit" }).click();
      assert.deepEqual(await seen(), whole);
      await page.locator("#graph-picture a").first().focus();
      await page.keyboard.press("+");
      assert.ok((await seen())[2] < whole[2]);
      await page.keyboard.press("-");
      const followed = page.evaluate(
        () =>
          new Promise((resolve) => {
            const tell = (event) => {
              resolve(!event.defaultPrevented);
              event.preventDefault();
            };
            document.addEventListener("click", tell, { once: true });
          }),
      );
      await page.locator("#graph-picture a").first().focus();
      await page.keyboard.press("Enter");
      assert.ok(await followed, "after a drag, a link still takes Enter");
      const slider = page.getByRole("slider", { name: "Day" });
      await slider.focus();
      await page.keyboard.press("Home");
      await page.waitForURL(/at=\d{4}-\d\d-\d\d/);
    });
  }

  // Without JavaScript Chromium complains that the islands were fetched and not run.
  if (javaScriptEnabled) assert.deepEqual(complaints.filter((one) => !/ 4\d\d /.test(one)), []);
}

async function openEntity(page, url, name) {
  await page.goto(`${url}/entities?q=${encodeURIComponent(name)}`);
  await page.locator("[data-row]").getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { name, level: 1 }).waitFor();
}

async function manage(page) {
  const fold = page.locator("#manage");
  if ((await fold.getAttribute("open")) === null) await fold.locator("summary").click();
}
