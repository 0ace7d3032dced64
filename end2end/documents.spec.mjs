// What an agent writes into its files is read, compared, restored and deleted by its person.

import assert from "node:assert/strict";
import { begin, lookAt, makeAgent, scenario, untilOpened } from "./browser.mjs";

const MEMORY = `---
name: memory
updated: 2026-03-23
---

# What matters

Anna prefers **short answers**, with the *reasons* after them. She writes from \`Graz\`, mostly in the evening, and does not
want to be asked twice. See [the handbook](https://handbook.example/anna) or [other notes](memory/2026-03-23.md).

## Open tasks

- [x] Book the train to Lyon
- [ ] Ask Benedikt about the lease
  1. the deposit
  2. the notice period
- Water the plants

> Measure twice, cut once.
>
> - said on Monday

| Project | State | Since |
|---|---|---|
| Aurora | running | 2025-01 |
| Lighthouse | waiting for a decision of the board | 2026-02 |

\`\`\`sh
make check && tools/with_postgres.py cargo test --test keepsake -- pages::documents isolation::routes
\`\`\`

![a map of the office](https://pictures.example/office.png)

---

<script>document.title = "taken over"</script>
`;

scenario("documents", documents);

async function documents(t, { javaScriptEnabled }) {
  const { url, tool, context, page, complaints, step } = await begin(t, { javaScriptEnabled });
  const outside = [];
  context.on("request", (request) => request.url().startsWith(url) || outside.push(request.url()));
  const look = (name) => lookAt(page, name, javaScriptEnabled);
  let token;
  const files = (command, input) => tool(token, "memory_files", { command, ...input });
  const create = (file, text) => files("create", { path: `/memories/${file}`, file_text: text });
  const open = async (name) => {
    await page.goto(`${url}/documents`);
    await page.getByRole("link", { name, exact: true }).click();
    await page.getByRole("heading", { level: 1, name }).waitFor();
  };

  await step("before the first document the page says how to begin", async () => {
    await page.getByRole("link", { name: "Documents", exact: true }).click();
    await page.getByText("No agent has written a document yet.").waitFor();
    await look("documents-none");
  });

  await step("files stand in folders", async () => {
    token = await makeAgent(page, url, "claude-code");
    await create("MEMORY.md", MEMORY);
    await create("memory/2026-03-22.md", "# Sunday\n\nAnna walked up the Schlossberg.\n");
    await create("memory/2026-03-23.md", "# Monday\n\nAnna moved to Graz.\n");
    await create("projects/aurora/a-rather-long-name-of-a-file-that-has-to-wrap-somewhere-on-a-phone.md", "# Aurora\n");
    await create("projects/aurora/state.json", '{"state": "running",\n "since": "2025-01"}\n');
    await create("projects/old.md", "gone\n");
    await files("delete", { path: "/memories/projects/old.md" });
    await page.goto(`${url}/documents`);
    assert.equal(await page.locator(".tree-folder").count(), 3);
    await page.locator("#deleted summary").click();
    await page.getByRole("link", { name: "projects/old.md" }).waitFor();
    await look("documents");
  });

  await step("Markdown is rendered, and nothing of it runs or is fetched", async () => {
    await open("MEMORY.md");
    await page.getByRole("heading", { name: "Open tasks" }).waitFor();
    assert.equal(await page.locator(".markdown script, .markdown img").count(), 0);
    assert.match(await page.title(), /^A document/);
    assert.deepEqual(outside, []);
    const link = page.getByRole("link", { name: "the handbook" });
    assert.equal(await link.getAttribute("rel"), "nofollow noreferrer noopener");
    await look("document");
    await page.getByRole("link", { name: "Show source" }).click();
    await page.locator("#L1").waitFor();
    await look("document-text");
  });

  await step("a revision shows what it changed, and an older one is restored", async () => {
    await files("str_replace", { path: "/memories/MEMORY.md", old_str: "- Water the plants\n", new_str: "- Water the plants twice a week, and the cactus, which stands behind the curtain in the bedroom, once a month\n- Call the bank\n" });
    await files("rename", { old_path: "/memories/MEMORY.md", new_path: "/memories/NOTES.md" });
    await open("NOTES.md");
    await page.getByText("renamed from MEMORY.md to NOTES.md").waitFor();
    await page.getByRole("link", { name: "Revision 2" }).click();
    await page.getByText("2 lines added, 1 line removed").waitFor();
    assert.equal(await page.locator(".diff-added").count(), 2);
    await look("document-revision");
    await page.getByRole("link", { name: "Revision 1", exact: true }).click();
    await page.getByRole("heading", { name: "Text at revision 1" }).waitFor();
    await manage(page);
    await look("document-manage");
    await page.getByRole("button", { name: "Restore revision 1" }).click();
    await page.getByRole("link", { name: "Revision 4" }).waitFor();
    assert.equal(await page.getByText("Call the bank").count(), 0);
    // Whose word it is stays: the agent's.
    assert.equal(await page.locator(".badges").getByText("stated by you").count(), 0);
    await look("document-restored");
  });

  await step("a part is found on Memory and leads to its document", async () => {
    await page.goto(`${url}/memory?q=Schlossberg&type=document`);
    await page.getByText("memory/2026-03-22.md").first().waitFor();
    await look("memory-document");
    await page.getByRole("link", { name: "details" }).first().click();
    await page.getByRole("heading", { name: "A part of a document" }).first().waitFor();
    await look("item-part");
    await page.goto(`${url}/memory?q=Schlossberg&type=document`);
    await page.locator("[data-row] a").first().click();
    await page.getByRole("heading", { level: 1, name: "memory/2026-03-22.md" }).waitFor();
  });

  await step("what found it is listed, here and on Activity", async () => {
    await tool(token, "memory_search", { query: "Schlossberg", types: ["document"] });
    await untilOpened(page, page.url(), "the call is recorded", async () => (await page.getByText("found by search").count()) > 0);
    await page.getByRole("link", { name: "View activity" }).click();
    await page.getByRole("link", { name: "memory/2026-03-22.md" }).first().waitFor();
    await look("activity-document");
  });

  await step("a deleted one is restored, and one is deleted permanently with a receipt", async () => {
    await page.goto(`${url}/documents`);
    await page.locator("#deleted summary").click();
    await page.getByRole("link", { name: "projects/old.md" }).click();
    await page.getByText("agents no longer see it").waitFor();
    await create("projects/old.md", "another\n");
    await manage(page);
    await page.getByRole("button", { name: "Restore", exact: true }).click();
    await page.getByText("another document has its path now").waitFor();
    await look("document-conflict");
    await page.getByRole("checkbox").check();
    await page.getByRole("button", { name: "Delete permanently" }).click();
    await page.waitForURL(/\/erased\//);
    await page.getByText("One document").first().waitFor();
    await look("document-receipt");
  });

  // Without JavaScript Chromium complains that the islands were fetched and not run.
  if (javaScriptEnabled) assert.deepEqual(complaints.filter((one) => !/ 4\d\d /.test(one)), []);
}

async function manage(page) {
  const fold = page.locator("#manage");
  if ((await fold.getAttribute("open")) === null) await fold.locator("summary").click();
}
