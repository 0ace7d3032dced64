// Pictures of the pages, filled with the demo memories, into results/; those of the README into docs/.
// `make pictures` runs it; with --docs only the latter are made.

import { spawnSync } from "node:child_process";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { launch, makeAgent, signUp } from "./browser.mjs";
import { BINARY, REPO, startServer } from "./server.mjs";

const RESULTS = path.join(REPO, "end2end/results");
const SIZES = { 1280: 860, 360: 780 };
const SCHEMES = ["light", "dark"];

const server = await startServer();
const browser = await launch();
try {
  await mkdir(RESULTS, { recursive: true });
  await shoot("login-first", "/login", await browser.newContext());
  const admin = await browser.newContext();
  const adminPage = await admin.newPage();
  await signUp(adminPage, server.url);
  const context = (await signInToDemo()) ?? (await fillByHand(admin, adminPage));
  await shootForDocs("memory", "/memory", context, 800);
  await shootForDocs("graph", "/graph?together=0", context, 1087);
  if (!process.argv.includes("--docs")) await shootAll(admin, context);
} finally {
  await browser.close();
  await server.stop();
}

async function shootAll(admin, context) {
  await shoot("login", "/login", await browser.newContext());
  await shoot("docs", "/docs", await browser.newContext());
  await shoot("docs-add", "/docs#memory_add", await browser.newContext());
  await shoot("memory", "/memory", context);
  await shoot("search", "/memory?q=coffee%20or%20tea", context);
  const page = await context.newPage();
  await page.goto(`${server.url}/memory`);
  const item = await page.locator("[data-row] a").first().getAttribute("href");
  await page.close();
  await shoot("item", item, context);
  await shoot(`why`, `${item}?q=coffee`, context);
  await shoot("agents", "/agents", context);
  await shoot("agents-new", "/agents", context, (page, size) => makeAgent(page, server.url, `new at ${size}`));
  await shoot("agents-connect", "/agents", context, async (page) => {
    await page.locator(".agent > summary").last().click();
    await page.getByText("How to connect").last().click();
    await page.locator("label", { hasText: "OpenAI SDK" }).click();
  });
  await shoot("activity", "/activity", context);
  await shoot("sessions-none", "/sessions", context);
  await shoot("data", "/data", context);
  await shoot("data-erase", "/data", context, (page) => page.getByText("Delete my account and everything in it").click());
  await shoot("item-manage", item, context, (page) => page.getByText("Manage", { exact: true }).click());
  await shoot("embeddings", "/settings/embeddings", context);
  await shoot("chat", "/settings/chat", context);
  await shoot("admin", "/admin", admin);
  await shoot("jobs", "/admin/jobs", admin);
  await shoot("users", "/admin/users", admin, async (page) => {
    await page.getByLabel("E-mail address (optional)").fill("carl@example.com");
    await page.getByRole("button", { name: "Create invitation" }).click();
    await page.locator(".fresh").waitFor();
  });
  const plain = await browser.newContext({ javaScriptEnabled: false, storageState: await context.storageState() });
  for (const [name, address] of [["memory", "/memory"], ["search", "/memory?q=coffee%20or%20tea"], ["item", item], ["agents", "/agents"], ["activity", "/activity"], ["embeddings", "/settings/embeddings"]]) {
    await shoot(`${name}-plain`, address, plain);
  }
  console.log(`✓ ${RESULTS}`);
}

async function shootForDocs(name, address, context, height) {
  const page = await context.newPage();
  await page.setViewportSize({ width: 1280, height });
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await page.goto(server.url + address, { waitUntil: "networkidle" });
  await page.screenshot({ path: path.join(REPO, "docs", `${name}.png`) });
  await page.close();
}

/** The demo user's context, or nothing when the demo cannot be had. */
async function signInToDemo() {
  const demo = spawnSync("python3", [path.join(REPO, "tools/demo.py")], {
    env: { ...server.env, KEEPSAKE_BIN: BINARY },
    encoding: "utf8",
  });
  const printed = (name) => demo.stdout?.match(new RegExp(`^\\s*${name}\\s+(\\S+)$`, "m"))?.[1];
  if (demo.status !== 0 || !printed("password")) {
    console.error(`! no demo: ${(demo.stderr || demo.error?.message || "no password was printed").trim()}`);
    return null;
  }
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${server.url}/login`);
  await page.getByLabel("E-mail address").fill(printed("e-mail"));
  await page.getByLabel("Password", { exact: true }).fill(printed("password"));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${server.url}/memory`);
  await page.close();
  return context;
}

async function fillByHand(context, page) {
  const token = await makeAgent(page, server.url, "claude-code on the laptop");
  for (const content of ["Prefers tea over coffee.", "Lives in Graz.", "Answers should be short."]) {
    await server.tool(token, "memory_add", { type: "preference", content });
  }
  return context;
}

async function shoot(name, address, context, arrive = () => {}) {
  const page = await context.newPage();
  for (const [width, height] of Object.entries(SIZES)) {
    await page.setViewportSize({ width: Number(width), height });
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.goto(server.url + address, { waitUntil: "networkidle" });
      await arrive(page, `${width} ${colorScheme}`);
      await page.screenshot({ path: path.join(RESULTS, `${name}-${width}-${colorScheme}.png`) });
    }
  }
  await page.close();
}
