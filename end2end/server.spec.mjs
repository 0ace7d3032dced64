// What is of the whole server, and so has one of its own: the first account; Admin › Jobs, where a job is paused, its work waits and
// it is resumed; the read-only browser; Admin › Backups, from none to one that is verified, and a member who is refused.

import assert from "node:assert/strict";
import { test } from "node:test";
import { EMAIL, acceptInvitation, awake, lookAt, makeAgent, mark, problems, signIn, signUp, unfold, until, visit } from "./browser.mjs";
import { remember, walk } from "./keyboard.mjs";
import { islandsMissing, startServer } from "./server.mjs";

const JOBS = 21;

test("what is of the whole server", async (t) => {
  const server = await startServer("the first account is made here; jobs are paused, the browser is made read-only, backups are counted");
  t.after(() => server.stop());
  const { url, tool } = server;
  const javaScriptEnabled = !islandsMissing;
  const { newContext, complaints, page, step } = await visit(t, { javaScriptEnabled });
  const plain = await (await newContext({ javaScriptEnabled: false })).newPage();
  const look = (name) => lookAt(page, name, javaScriptEnabled);
  let token;

  await step("before the first account the page is accessible, and walked by Tab", async () => {
    if (islandsMissing) return;
    await page.goto(`${url}/login`);
    await page.getByRole("heading", { name: "Welcome to Keepsake" }).waitFor();
    await unfold(page);
    assert.deepEqual(await problems(page, true), []);
    const walked = await newContext({ reducedMotion: "reduce" });
    await walked.addInitScript(remember);
    const login = await walked.newPage();
    await login.goto(`${url}/login`);
    await walk(login);
    await walked.close();
  });

  await step("the first account is made on the sign-in page, without JavaScript", async () => {
    await signUp(plain, url);
    await plain.getByText("No memories yet.").waitFor();
    await signIn(page, url, EMAIL);
    token = await makeAgent(page, url, "claude-code");
  });

  // With JavaScript the pages follow by themselves, without it they are opened again.
  const ways = [
    { page, way: "with JavaScript", isLive: javaScriptEnabled },
    { page: plain, way: "without JavaScript", isLive: false },
  ].filter(({ page }) => javaScriptEnabled || page === plain);

  for (const [n, { page, way, isLive }] of ways.entries()) {
    const press = (name) => page.getByRole("button", { name, exact: true }).click();
    const row = page.locator(".jobs tbody tr", { hasText: "Vectors" }).first();
    const says = (text) => until(page, `it says ${text}`, async () => (await page.getByText(text).count()) > 0 || (!isLive && void (await page.goto(`${url}/admin/jobs`))));

    await step(`a paused job leaves its work waiting, ${way}`, async () => {
      await page.goto(`${url}/admin`);
      await page.getByRole("navigation", { name: "Admin", exact: true }).getByRole("link", { name: "Jobs" }).click();
      await page.waitForURL(`${url}/admin/jobs`);
      await says("No run has failed.");
      assert.equal(await page.locator(".jobs tbody tr").count(), JOBS);
      await press("Pause Vectors");
      await page.getByText("Vectors is paused.").waitFor();
      await row.getByText("paused").waitFor();
      await tool(token, "memory_add", { type: "fact", content: `Shed ${n} is green.` });
      await page.goto(`${url}/admin/jobs`);
      await says("1 text to be embedded.");
      assert.equal(await page.getByRole("button", { name: "Run now Vectors" }).count(), 0);
      await unfold(page);
      assert.deepEqual(await problems(page, isLive), []);
    });

    await step(`a resumed job works it off, and the page says so, ${way}`, async () => {
      await page.goto(`${url}/admin/jobs`);
      await press("Resume Vectors");
      await page.getByText("Vectors is resumed.").waitFor();
      if (isLive) await awake(page);
      const stillSame = isLive && (await mark(page));
      await says("No embeddings are pending.");
      await says(n === 0 ? /\b1 done, 0 failed, in / : /\b[12] done, 0 failed, in /); // runs within minutes are one row
      if (stillSame) await stillSame();
      await says(/^\d+ runs? in 30 days, 0 failed/);
    });

    await step(`a schedule is set, refused and set back, ${way}`, async () => {
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

    await step(`a job runs when asked, and what was done is listed, ${way}`, async () => {
      await page.goto(`${url}/admin/jobs`);
      await press("Run now Expiry");
      await page.getByText("Expiry runs now.").waitFor();
      await page.goto(`${url}/admin/users`);
      for (const told of ["ran the job Expiry", "resumed the job Vectors", "paused the job Vectors"]) {
        await page.getByText(told).nth(n).waitFor();
      }
    });
  }

  await step("before there is a backup the page says so, and offers to make one", async () => {
    await page.goto(`${url}/admin`);
    await page.getByRole("navigation", { name: "Admin", exact: true }).getByRole("link", { name: "Backups" }).click();
    await page.getByText("There is no backup yet.").waitFor();
    assert.equal(await page.locator(".jobs").count(), 0);
    assert.equal(await page.getByRole("button", { name: "Verify now" }).count(), 0);
    await look("backups-empty");
  });

  for (const [n, { page, way, isLive }] of ways.entries()) {
    const press = (name) => page.getByRole("button", { name, exact: true }).click();
    const rows = page.locator(".jobs tbody tr");
    const becomes = (what, isSo) => until(page, what, async () => (await isSo()) || (!isLive && void (await page.goto(`${url}/admin/backups`))));

    await step(`a backup is made and shown with its size, ${way}`, async () => {
      await page.goto(`${url}/admin/backups`);
      await press("Back up now");
      await page.getByText("A backup is made now.").waitFor();
      if (isLive) await awake(page);
      const stillSame = isLive && (await mark(page));
      await becomes("the backup is listed", async () => (await rows.count()) === n + 1);
      await becomes("it is made", async () => (await page.getByText("A backup is being made.").count()) === 0);
      if (stillSame) await stillSame();
      assert.match(await rows.first().locator("th").textContent(), /^keepsake-.+\.tar$/);
      assert.match(await rows.first().locator("td[data-label=Size]").textContent(), /^[\d.,]+ (kB|KB|MB)$/);
      assert.match(await rows.first().locator("td[data-label=Rows]").textContent(), /^[\d,]+$/);
      assert.equal(await rows.first().locator("td[data-label=Verified]").textContent(), "never");
      await lookAt(page, "backups", isLive);
    });

    await step(`Verify now restores it and says what came of it, ${way}`, async () => {
      await press("Verify now");
      await page.getByText("The newest backup is verified now.").waitFor();
      const verified = rows.first().locator("td[data-label=Verified]");
      await becomes("it is verified", async () => /done/.test(await verified.textContent()));
      await becomes("and no more", async () => (await page.getByText("is being verified").count()) === 0);
      assert.equal(await verified.locator("time").count(), 1);
      assert.equal(await page.getByRole("alert").count(), 0);
      await lookAt(page, "backups-verified", isLive);
    });
  }

  await step("who is no admin does not find the backups", async () => {
    await page.goto(`${url}/admin/users`);
    await page.getByRole("button", { name: "Create invitation", exact: true }).click();
    const bens = await (await newContext()).newPage();
    await acceptInvitation(bens, await page.locator(".fresh code").textContent(), "ben@example.com");
    const address = `${url}/admin/backups`;
    assert.equal((await bens.goto(address)).status(), 404);
    await bens.getByRole("heading", { name: "Page not found" }).waitFor();
    assert.ok(!(await bens.content()).includes("keepsake-2"), "a member is told a file's name");
    const asked = await bens.request.post(address, { form: { action: "back_up" }, headers: { origin: new URL(url).origin } });
    assert.equal(asked.status(), 404);
    await page.goto(address);
    assert.equal(await page.locator(".jobs tbody tr").count(), ways.length);
  });

  await step("a read-only browser has no such section", async () => {
    const says = (text) => page.getByText(text).first().waitFor();
    const { id } = await tool(token, "memory_add", { type: "fact", content: "The shed is green." });
    const setting = page.locator("section[aria-labelledby=browser]").getByRole("button");
    await page.goto(`${url}/admin`);
    await setting.getByText("Switch it on").click();
    await says("The memory browser is now read-only for all users.");
    await page.goto(`${url}/memory/${id}`);
    await says("The shed is green.");
    assert.equal(await page.getByText("Manage", { exact: true }).count(), 0);
    const form = { action: "archive" };
    const refused = await page.request.post(`${url}/memory/${id}`, { form, headers: { origin: new URL(url).origin } });
    assert.equal(refused.status(), 403);
    await page.goto(`${url}/admin`);
    await setting.getByText("Switch it off").click();
    await says("Users can manage memories in the browser again.");
    await page.goto(`${url}/memory/${id}`);
    await page.getByText("Manage", { exact: true }).waitFor();
  });

  // Without JavaScript Chromium complains that the islands were fetched and not run; with it, of the time of day that is none.
  if (javaScriptEnabled) assert.deepEqual(complaints.filter((one) => !one.includes('"half past five"')), []);
});
