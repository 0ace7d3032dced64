// Admin › Jobs: a job is paused, its work waits, it is resumed, and the page follows. The same way
// with JavaScript and without.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { awake, launch, makeAgent, mark, signUp } from "./browser.mjs";
import { startServer } from "./server.mjs";

const TIMEOUT_MS = 60_000;

export async function jobs(t, { javaScriptEnabled }) {
  const server = await startServer();
  t.after(() => server.stop());
  const browser = await launch();
  t.after(() => browser.close());
  const { url, tool } = server;
  const context = await browser.newContext({ javaScriptEnabled });
  const page = await context.newPage();
  const press = (name) => page.getByRole("button", { name, exact: true }).click();
  const row = page.locator(".jobs tbody tr", { hasText: "Vectors" }).first();
  const until = async (text) => {
    const deadline = Date.now() + TIMEOUT_MS;
    while (!(await page.getByText(text).count())) {
      assert.ok(Date.now() < deadline, `${text}: it did not come to that`);
      if (!javaScriptEnabled) await page.goto(`${url}/admin/jobs`);
      await sleep(250);
    }
  };

  await signUp(page, url);
  const token = await makeAgent(page, url, "claude-code");
  await page.goto(`${url}/admin`);
  await page.getByRole("navigation", { name: "Admin", exact: true }).getByRole("link", { name: "Jobs" }).click();
  await page.waitForURL(`${url}/admin/jobs`);
  await until("No run has failed.");
  assert.equal(await page.locator(".jobs tbody tr").count(), 10);

  await t.test("a paused job leaves its work waiting", async () => {
    await press("Pause Vectors");
    await page.getByText("Vectors is paused.").waitFor();
    await row.getByText("paused").waitFor();
    await tool(token, "memory_add", { type: "fact", content: "The shed is green." });
    await page.goto(`${url}/admin/jobs`);
    await until("1 text to be embedded.");
    assert.equal(await page.getByRole("button", { name: "Run now Vectors" }).count(), 0);
  });

  await t.test("a resumed job works it off, and the page says so", async () => {
    await press("Resume Vectors");
    await page.getByText("Vectors is resumed.").waitFor();
    if (javaScriptEnabled) await awake(page);
    const stillSame = javaScriptEnabled && (await mark(page));
    await until("No embeddings are pending.");
    await until(/1 done, 0 failed, in /);
    if (stillSame) await stillSame();
    await until(/^\d+ runs? in 30 days, 0 failed/);
  });

  await t.test("a job runs when asked, and what was done is listed", async () => {
    await press("Run now Expiry");
    await page.getByText("Expiry runs now.").waitFor();
    await page.goto(`${url}/admin/users`);
    for (const told of ["ran the job Expiry", "resumed the job Vectors", "paused the job Vectors"]) {
      await page.getByText(told).waitFor();
    }
  });
}
