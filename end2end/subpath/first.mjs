// The first person of a fresh server under a path signs up, looks around and signs out: nothing leaves the path.
//
//     node first.mjs      reads KEEPSAKE_TEST_URL; KEEPSAKE_PICTURES names a folder for what is seen

import assert from "node:assert/strict";
import { awake, collectComplaints, launch, lookAt, makeAgent, signUp } from "../browser.mjs";
import { islandsMissing } from "../server.mjs";

const url = process.env.KEEPSAKE_TEST_URL;
const browser = await launch();
try {
  const context = await browser.newContext();
  await context.addInitScript("window.loadAxe = () => { window.axe = { run: async () => ({ violations: [] }) } }");
  const complaints = await collectComplaints(context);
  const elsewhere = [];
  context.on("request", (request) => request.url().startsWith(`${url}/`) || elsewhere.push(request.url()));
  const page = await context.newPage();
  await signUp(page, url);
  if (!islandsMissing) await awake(page);
  const cookies = await context.cookies();
  assert.deepEqual(cookies.map(({ name, path }) => [name, path]), [["keepsake", new URL(url).pathname]]);
  await lookAt(page, "under-a-path-memory", true);
  const token = await makeAgent(page, url, "first");
  await lookAt(page, "under-a-path-token", true);
  const line = await page.locator(".connect-panel pre", { hasText: "connect.py" }).first().textContent();
  assert.ok(line.includes(`${url}/connect.py`) && line.includes(token), line);
  await page.goto(`${url}/nothing-here`);
  await lookAt(page, "under-a-path-404", true);
  await page.getByRole("link", { name: "Go to Memory" }).click();
  await page.waitForURL(`${url}/memory`);
  await page.locator(".account-menu > summary").click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(`${url}/login`);
  assert.deepEqual(await context.cookies(), []);
  assert.deepEqual([elsewhere, complaints], [[], []]);
} finally {
  await browser.close();
}
