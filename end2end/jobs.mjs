// Admin › Jobs: a job is paused, its work waits, it is resumed, and the page follows; a schedule is
// set, and a time zone on the page Account. The same way with JavaScript and without.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { awake, launch, makeAgent, mark, signUp } from "./browser.mjs";
import { startServer } from "./server.mjs";

const TIMEOUT_MS = 300_000;

export async function jobs(t, { javaScriptEnabled }) {
  const server = await startServer();
  t.after(() => server.stop());
  const browser = await launch();
  t.after(() => browser.close());
  const { url, tool } = server;
  const context = await browser.newContext({ javaScriptEnabled, timezoneId: "America/New_York" });
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
  assert.equal(await page.locator(".jobs tbody tr").count(), 20);

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

  await t.test("a schedule is set, refused and set back", async () => {
    const time = page.getByLabel("Time of day of Completion");
    const schedule = page.locator(".jobs tbody tr", { hasText: "Completion" }).locator("td[data-label=Schedule]");
    await page.goto(`${url}/admin/jobs`);
    await schedule.getByText("every day at 03:00, in each user's time zone").waitFor();
    await page.getByRole("link", { name: "Change the schedule of Completion" }).click();
    assert.equal(await time.inputValue(), "03:00");
    assert.equal(await page.getByRole("button", { name: "Reset to the default" }).count(), 0);
    await time.fill("05:30");
    await press("Save schedule of Completion");
    await page.getByText("Completion runs every day at 05:30, in each user's time zone.").waitFor();
    await schedule.getByText("every day at 05:30").waitFor();
    assert.equal(await time.inputValue(), "05:30");
    // What no browser sends of its own.
    await time.evaluate((input) => (input.type = "text"));
    await time.fill("half past five");
    await press("Save schedule of Completion");
    await page.getByText("`at` is not a time of day; give hours and minutes").waitFor();
    assert.equal(await time.getAttribute("aria-invalid"), "true");
    await press("Reset to the default: every day at 03:00");
    await page.getByText("Completion runs every day at 03:00, in each user's time zone again.").waitFor();
    assert.equal(await time.inputValue(), "03:00");
  });

  await t.test("a person sets a time zone, and the browser's is only offered", async () => {
    const zone = page.getByRole("combobox", { name: "Time zone" });
    const offer = page.getByRole("button", { name: "Use America/New_York, as this browser does" });
    await page.goto(`${url}/account`);
    assert.equal(await zone.inputValue(), "UTC");
    assert.ok((await page.locator("#time-zones option").count()) > 300);
    await zone.fill("Vienna");
    await press("Save time zone");
    await page.getByText("`time_zone` is not the name of a time zone").waitFor();
    assert.equal(await zone.inputValue(), "Vienna");
    await zone.fill("Europe/Vienna");
    await press("Save time zone");
    await page.getByText("Your time zone is Europe/Vienna.").waitFor();
    if (!javaScriptEnabled) {
      assert.equal(await offer.count(), 0);
      return;
    }
    await offer.click();
    await page.getByText("Your time zone is America/New_York.").waitFor();
    assert.equal(await zone.inputValue(), "America/New_York");
    await awake(page);
    assert.equal(await offer.count(), 0);
  });

  await t.test("a job runs when asked, and what was done is listed", async () => {
    await page.goto(`${url}/admin/jobs`);
    await press("Run now Expiry");
    await page.getByText("Expiry runs now.").waitFor();
    await page.goto(`${url}/admin/users`);
    for (const told of ["ran the job Expiry", "resumed the job Vectors", "paused the job Vectors"]) {
      await page.getByText(told).waitFor();
    }
  });
}
