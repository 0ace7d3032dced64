// All of it out as a file, the same file in, one memory erased, then the account.

import assert from "node:assert/strict";
import { begin, gone, makeAgent, scenario } from "./browser.mjs";
import { PASSWORD } from "./server.mjs";

const SECRET = "The spare key lies beneath the third flowerpot.";

scenario("what is one's own is exported, imported and erased", data, "nothing renews the page while a file is imported");

async function data(t, { javaScriptEnabled }) {
  const { url, tool, email, page, complaints, step } = await begin(t, { javaScriptEnabled, acceptDownloads: true });
  let token, id, file;

  await step("an account with nothing in it says so", async () => {
    await page.goto(`${url}/data`);
    await page.getByText("There are no memories yet").waitFor();
    await page.getByText("Nothing was deleted permanently yet.").waitFor();
  });

  await step("the export is a file with every memory", async () => {
    token = await makeAgent(page, url, "claude-code");
    ({ id } = await tool(token, "memory_add", { type: "fact", content: SECRET, theme: "home" }));
    await tool(token, "memory_add", { type: "preference", content: "Likes oolong.", theme: "food" });
    await page.goto(`${url}/data`);
    await page.getByText(/^2 memories/).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Export everything" }).click(),
    ]);
    assert.match(download.suggestedFilename(), /\.jsonl$/);
    file = Buffer.concat(await (await download.createReadStream()).toArray());
    const lines = file.toString().trim().split("\n").map((line) => JSON.parse(line));
    assert.ok(lines.some((line) => JSON.stringify(line).includes(SECRET)));
    assert.ok(!file.toString().includes(token));
  });

  await step("the same file changes nothing", async () => {
    await importFile(page, url, file);
    await outcome(page, /^0 memories added · .* already known$/).waitFor();
  });

  await step("of a file that is none nothing is taken in, and the page says where it stopped", async () => {
    await importFile(page, url, Buffer.from("what is this?\n"));
    await outcome(page, /^0 memories added · 1 rejected$/).waitFor();
    await page.getByRole("heading", { name: "Rejected" }).waitFor();
    assert.match(await page.locator("[data-live=import] .facts").innerText(), /in no form that is known/);
  });

  await step("one memory is deleted by its address, and its receipt is kept", async () => {
    await page.goto(`${url}/data`);
    await page.getByLabel("Its ID, or the address of its page").fill("what is this?");
    await page.getByRole("button", { name: "Delete permanently" }).click();
    await page.getByText("`item` names no memory").waitFor();
    await page.getByLabel("Its ID, or the address of its page").fill(`${url}/memory/${id}`);
    await page.getByRole("button", { name: "Delete permanently" }).click();
    await page.getByText("This memory will be deleted permanently in ten seconds.").waitFor();
    await gone(page, `${url}/memory/${id}`);
    await page.getByText("It may have been deleted permanently").waitFor();
    await page.goto(`${url}/data`);
    await page.getByRole("link", { name: "One memory" }).click();
    await page.getByText("It is deleted, with everything derived from it.").waitFor();
  });

  await step("the file brings it back, for whoever still has it", async () => {
    await importFile(page, url, file);
    await outcome(page, /^1 memory added/).waitFor();
    await page.goto(`${url}/memory?q=flowerpot`);
    await page.locator("[data-row]").filter({ hasText: "flowerpot" }).waitFor();
  });

  await step("the account is not erased at a wrong password", async () => {
    await page.goto(`${url}/data`);
    await eraseAccount(page, email, "not the password at all");
    await page.getByText("This is not your password; nothing was deleted.").waitFor();
    await page.goto(`${url}/memory`);
    assert.equal(await page.locator("[data-row]").count(), 2);
  });

  await step("the account is erased, and its receipt is for whoever holds it", async () => {
    await page.goto(`${url}/data`);
    await eraseAccount(page, email, PASSWORD);
    await page.waitForURL(/\/erased\//);
    await page.getByText("Nothing of it is left in this server's database").waitFor();
    const receipt = await (await fetch(`${page.url().split("?")[0]}/receipt.json`)).json();
    assert.ok(!JSON.stringify(receipt).includes(email));
    await page.goto(`${url}/memory`);
    assert.ok(page.url().startsWith(`${url}/login`), page.url());
    await assert.rejects(tool(token, "memory_search", { query: "*" }), /401/);
  });

  // Without JavaScript Chromium complains that the islands were fetched and not run.
  if (javaScriptEnabled) assert.deepEqual(complaints, []);
}

/** What the last import came to. */
function outcome(page, text) {
  return page.locator("[data-progress-line]").filter({ hasText: text });
}

async function importFile(page, url, buffer) {
  await page.goto(`${url}/data`);
  await page.getByLabel("File", { exact: true }).setInputFiles({ name: "memory.jsonl", mimeType: "application/x-ndjson", buffer });
  await page.getByRole("button", { name: "Import" }).click();
}

async function eraseAccount(page, email, password) {
  const details = page.locator("details.confirm");
  if (!(await details.evaluate((one) => one.open))) await details.locator("summary").click();
  await details.getByLabel("Your e-mail address, to confirm").fill(email);
  await details.getByLabel("Your password").fill(password);
  await details.getByRole("button", { name: "Delete everything" }).click();
}
