// The browser, and the steps that several specs take in it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import axe from "axe-core";
import { chromium } from "playwright-core";
import { PASSWORD, REPO, islandsMissing, joinServer } from "./server.mjs";

/** Of the first account of a server of one's own. */
export const EMAIL = "anna@example.com";
const PHONE = 360;
const WIDTHS = [PHONE, 1280];
/** The rules of axe whose outcome depends on colours, and so on the scheme. */
const COLOUR_RULES = ["color-contrast", "link-in-text-block"];
/** A busy machine makes everything slow; only no progress is a fault. */
const STANDSTILL_MS = 300_000;

/** With JavaScript the islands are awake once the button of the shortcuts shows. */
const AWAKE = ".foot button:not([hidden])";

/** A connection to the one Chromium of run.mjs; a spec that is run alone has its own. */
export function launch() {
  const endpoint = process.env.KEEPSAKE_TEST_BROWSER;
  return endpoint ? chromium.connect(endpoint) : chromium.launch(options());
}

export function options() {
  return {
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
  };
}

function findChromium() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  // The first takes two thirds of the others' time: it draws no window.
  for (const name of ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]) {
    try {
      return execFileSync("which", [name], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
    } catch {
      // Not this one.
    }
  }
  throw new Error("no Chromium found: install it, or set CHROMIUM to its path");
}

/** A test with JavaScript, and another without where something `differs`, or where there are no islands. */
export function scenario(name, run, differs) {
  test(`${name}, with JavaScript`, { skip: islandsMissing }, (t) => run(t, { javaScriptEnabled: true }));
  if (differs || islandsMissing) test(`${name}, without JavaScript`, (t) => run(t, { javaScriptEnabled: false }));
}

/** What a spec begins with: an account of its own on the shared server, signed in in a context of its own. */
export async function begin(t, options = {}) {
  const server = await joinServer();
  const id = randomBytes(4).toString("hex");
  const email = server.makeUser("anna", id);
  const visitor = await visit(t, options);
  await signIn(visitor.page, server.url, email);
  return { ...server, ...visitor, id, email };
}

/** A context of one's own, and `step`: a subtest whose failure says what the pages show, and ends the test. */
export async function visit(t, options = {}) {
  const browser = await launch();
  t.after(() => browser.close());
  const newContext = async (more) => {
    const context = await browser.newContext({ ...options, ...more });
    context.setDefaultTimeout(STANDSTILL_MS);
    // Half a megabyte, which crosses to the browser once; the pages that are looked at run it.
    await context.addInitScript(`window.loadAxe = () => { ${axe.source} }`);
    return context;
  };
  const context = await newContext();
  const complaints = await collectComplaints(context);
  const page = await context.newPage();
  let failed;
  const step = (name, run) =>
    t.test(name, { skip: failed && `after the failure of: ${failed}` }, async (t) => {
      try {
        await run(t);
      } catch (error) {
        failed = name;
        const pages = browser.contexts().flatMap((context) => context.pages());
        const shown = await Promise.all(pages.map((page) => shownBy(page)));
        throw new Error(`${error.message}\n${shown.join("\n")}`, { cause: error });
      }
    });
  return { browser, newContext, context, complaints, page, step };
}

async function shownBy(page) {
  const text = await page.locator("body").innerText({ timeout: 10_000 }).catch((error) => error.message);
  return `${page.url()} shows:\n${text.slice(0, 3000)}`;
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
  assert.ok(page.url().startsWith(`${url}/login`), page.url());
  await page.getByRole("heading", { name: "Welcome to Keepsake" }).waitFor();
  await page.getByLabel("E-mail address").fill(EMAIL);
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: "Create the admin account" }).click();
  await page.waitForURL(`${url}/memory`);
}

export async function signIn(page, url, email) {
  await page.goto(`${url}/login`);
  await fillSignIn(page, email);
  await page.waitForURL(`${url}/memory`);
}

export async function fillSignIn(page, email) {
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** On the page of an invitation. */
export async function acceptInvitation(page, link, email) {
  await page.goto(link);
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.waitForURL(link.replace(/\/invitation\/.*/, "/memory"));
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

/** What a look at the page tells; undefined if it is being left. */
async function unlessLeft(look) {
  try {
    return await look();
  } catch (error) {
    if (!error.message.includes("Execution context was destroyed")) throw error;
  }
}

/** Looks until it is so; fails once the live parts of the page have stood still for minutes. */
export async function until(page, what, isSo) {
  let [seen, deadline] = [null, 0];
  while (!(await unlessLeft(isSo))) {
    const shown = (await unlessLeft(() => page.locator("[data-live]").allInnerTexts()))?.join("\n");
    if (shown !== seen) [seen, deadline] = [shown, Date.now() + STANDSTILL_MS];
    assert.ok(Date.now() < deadline, `${what}: it did not come to that`);
    await sleep(100);
  }
}

/** Opens the page until it is so. */
export function untilOpened(page, address, what, isSo) {
  return until(page, what, async () => {
    const answer = await page.goto(address);
    return isSo(answer);
  });
}

/** Looks again until there is no such page. */
export function gone(page, address) {
  return untilOpened(page, address, `${address} is gone`, (answer) => answer.status() === 404);
}

/** The signed-in admin's own chat model is at this address from now on. */
export async function useChat(page, url, endpoint) {
  const form = { action: "save", own_enabled: "1", provider_type: "openai", url: endpoint, model: "scripted" };
  const saved = await page.request.post(`${url}/settings/chat`, { form, headers: { origin: new URL(url).origin } });
  assert.equal(saved.status(), 200, await saved.text());
}

/** Pages of the same person without JavaScript. */
export async function withoutJavaScript({ newContext, context }) {
  const plain = await newContext({ javaScriptEnabled: false, storageState: await context.storageState() });
  return plain.newPage();
}

export function unfold(page) {
  return page.evaluate(() => document.querySelectorAll("details").forEach((fold) => (fold.open = true)));
}

/**
 * What keeps somebody from using the page: it scrolls sideways, or axe finds something at these widths. `inScheme` is called for each
 * width in light and in dark.
 */
export async function problems(page, javaScriptEnabled, { axeAt = WIDTHS, inScheme = () => {} } = {}) {
  // A page that a form answered may be read before its stylesheet is there.
  await page.waitForLoadState();
  const found = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 860 });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (over > 0) found.push(`at ${width} px it is ${over} px too wide`);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      if (javaScriptEnabled && axeAt.includes(width)) {
        for (const { id, nodes } of await violations(page, colorScheme)) {
          const where = nodes.map((node) => `${node.target} (${node.failureSummary.replaceAll(/\s+/g, " ")})`);
          found.push(`${id}, ${colorScheme} at ${width} px: ${where.join("; ")}`);
        }
      }
      await inScheme(width, colorScheme);
    }
  }
  return found;
}

/** What axe finds: all of it in light, and in dark what depends on colours. */
function violations(page, colorScheme) {
  const rules = colorScheme === "dark" ? { runOnly: COLOUR_RULES } : {};
  return page.evaluate(async (rules) => {
    if (!window.axe) window.loadAxe();
    return (await window.axe.run({ resultTypes: ["violations"], ...rules })).violations;
  }, rules);
}

/** Nothing scrolls sideways, nothing is hard to reach, light and dark; KEEPSAKE_PICTURES names a folder to look at. */
export async function lookAt(page, name, javaScriptEnabled, fullPage = true) {
  const inScheme = async (width, colorScheme) => {
    if (!process.env.KEEPSAKE_PICTURES) return;
    const file = `${name}-${width}-${colorScheme}${javaScriptEnabled ? "" : "-plain"}.png`;
    await page.screenshot({ path: path.resolve(REPO, process.env.KEEPSAKE_PICTURES, file), fullPage });
  };
  const found = await problems(page, javaScriptEnabled, { axeAt: [PHONE], inScheme });
  assert.deepEqual(found.map((one) => `${name}, ${one}`), []);
}
