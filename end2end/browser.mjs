// The browser, and the steps that several specs take in it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import axe from "axe-core";
import { chromium } from "playwright-core";
import { REPO } from "./server.mjs";

export const EMAIL = "anna@example.com";
export const PASSWORD = "a long sentence about tea";
const WIDTHS = [360, 1280];

/** With JavaScript the islands are awake once the button of the shortcuts shows. */
const AWAKE = ".foot button:not([hidden])";

export function launch() {
  return chromium.launch({
    executablePath: findChromium(),
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
    ],
  });
}

function findChromium() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  if (existsSync("/usr/bin/chromium")) return "/usr/bin/chromium";
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    try {
      return execFileSync("which", [name], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
    } catch {
      // Not this one.
    }
  }
  throw new Error("no Chromium found: install it, or set CHROMIUM to its path");
}

/** Collects what pages of this context complain about. Chromium's lines about a page that is meant to be a 404, and about how long a page took to run what it fetched, are none. */
export async function collectComplaints(context) {
  const complaints = [];
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`);
    });
  });
  context.on("page", (page) => {
    page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error.message}`));
    page.on("console", (message) => {
      const isPageItself = message.text().startsWith("Failed to load resource") && message.location().url === page.url();
      const isOfSpeed = message.text().includes("but not used within a few seconds");
      if (["error", "warning"].includes(message.type()) && !isPageItself && !isOfSpeed) {
        complaints.push(`${page.url()}: ${message.text()} (${message.location().url})`);
      }
    });
  });
  return complaints;
}

export async function signUp(page, url) {
  await page.goto(`${url}/memory`);
  assert.equal(new URL(page.url()).pathname, "/login");
  await page.getByRole("heading", { name: "Welcome to Keepsake" }).waitFor();
  await page.getByLabel("E-mail address").fill(EMAIL);
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: "Create the admin account" }).click();
  await page.waitForURL(`${url}/memory`);
}

/** Makes an agent and ends on the page that shows its token, which it returns. */
export async function makeAgent(page, url, name) {
  await page.goto(`${url}/agents`);
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByRole("button", { name: "Create agent" }).click();
  const token = await page.locator(".fresh code").first().textContent();
  assert.match(token, /^\S{20,}$/);
  return token;
}

export async function awake(page) {
  await page.waitForSelector(AWAKE);
}

/** Marks the window, and returns a check that it is still the same one. */
export async function mark(page) {
  await page.evaluate(() => (window.isSame = true));
  return async () => assert.equal(await page.evaluate(() => window.isSame), true, "the page was loaded anew");
}

/** Looks again until there is no such page. */
export async function gone(page, address) {
  const deadline = Date.now() + 300_000;
  while ((await page.goto(address)).status() !== 404) {
    assert.ok(Date.now() < deadline, `${address} is still there`);
    await sleep(500);
  }
}

/** The signed-in admin's own chat model is at this address from now on. */
export async function useChat(page, url, endpoint) {
  const form = { action: "save", own_enabled: "1", provider_type: "openai", url: endpoint, model: "scripted" };
  const saved = await page.request.post(`${url}/settings/chat`, { form, headers: { origin: url } });
  assert.equal(saved.status(), 200, await saved.text());
}

/** What axe finds; the script is loaded once per page. */
export async function violations(page) {
  await page.evaluate(`window.axe || (() => { ${axe.source} })()`);
  return (await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }))).violations;
}

/** Nothing scrolls sideways, nothing is hard to reach, light and dark; KEEPSAKE_PICTURES names a folder to look at. */
export async function lookAt(page, name, javaScriptEnabled, fullPage = true) {
  // A page that a form answered may be read before its stylesheet is there.
  await page.waitForLoadState();
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 860 });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(over <= 0, `${name} at ${width} px is ${over} px too wide`);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      if (javaScriptEnabled && width === WIDTHS[0]) {
        const found = await violations(page);
        assert.deepEqual(found.map((one) => `${name} at ${width}: ${one.id} ${one.nodes[0].html}`), []);
      }
      if (process.env.KEEPSAKE_PICTURES) {
        const file = `${name}-${width}-${colorScheme}${javaScriptEnabled ? "" : "-plain"}.png`;
        await page.screenshot({ path: path.resolve(REPO, process.env.KEEPSAKE_PICTURES, file), fullPage });
      }
    }
  }
}
