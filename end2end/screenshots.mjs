// Pictures of all pages with the demo's memories and of a new account, and what each page weighs, into results/;
// those of the README and the documentation into docs/. `make pictures` runs it; with --docs only the latter are made.

import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { launch, makeAgent, signUp } from "./browser.mjs";
import { connectInspector, packagesMissing, startInspector } from "./mcp-clients.mjs";
import { BINARY, REPO, startServer } from "./server.mjs";

const RESULTS = path.join(REPO, "end2end/results");
const SIZES = { 1280: 860, 768: 1024, 360: 780 };
const SCHEMES = ["light", "dark"];

const server = await startServer("the pictures begin before the first account");
const browser = await launch();
try {
  await mkdir(RESULTS, { recursive: true });
  await shoot("login-first", "/login", await browser.newContext());
  const admin = await browser.newContext();
  const adminPage = await admin.newPage();
  await signUp(adminPage, server.url);
  await shootConnecting(admin);
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
  const page = await context.newPage();
  const first = async (list, link) => {
    await page.goto(server.url + list);
    return page.locator(link).first().getAttribute("href");
  };
  const item = await first("/memory", "[data-row] a");
  const pages = {
    memory: "/memory",
    search: "/memory?q=coffee%20or%20tea",
    filtered: "/memory?q=coffee&type=fact&days=365&status=all",
    day: "/memory?as_of=2026-03-03",
    item,
    why: `${item}?q=coffee`,
    learned: "/learned",
    dreams: "/dreams",
    timeline: "/timeline",
    summary: "/summary",
    sessions: "/sessions",
    session: await first("/sessions", "[data-row] a"),
    entities: "/entities",
    entity: await first("/entities", "main a[href^='/entities/']"),
    graph: "/graph",
    documents: "/documents",
    document: await first("/documents", "main a[href^='/documents/']"),
    agents: "/agents",
    activity: "/activity",
    used: "/used",
    data: "/data",
    account: "/account",
    embeddings: "/settings/embeddings",
    chat: "/settings/chat",
    fading: "/settings/fading",
    webhooks: "/settings/webhooks",
    secrets: "/settings/secrets",
    work: "/settings/work",
  };
  await page.close();
  const ofAdmin = { admin: "/admin", backups: "/admin/backups", jobs: "/admin/jobs", users: "/admin/users" };
  for (const [name, address] of Object.entries(pages)) await shoot(name, address, context);
  for (const [name, address] of Object.entries(ofAdmin)) await shoot(name, address, admin);
  for (const [name, address] of Object.entries(pages)) {
    if (address === `/${address.split("/")[1]}` || address.startsWith("/settings/")) await shoot(`${name}-empty`, address, admin);
  }
  const plain = await browser.newContext({ javaScriptEnabled: false, storageState: await context.storageState() });
  for (const [name, address] of Object.entries(pages)) await shoot(`${name}-plain`, address, plain);
  await shoot("agents-new", "/agents", context, (page, size) => makeAgent(page, server.url, `new at ${size}`));
  await shoot("agents-connect", "/agents", context, async (page) => {
    await page.locator(".agent > summary").last().click();
    await page.getByText("How to connect").last().click();
    await page.locator("label", { hasText: "OpenAI SDK" }).click();
  });
  await shoot("item-manage", item, context, (page) => page.getByText("Manage", { exact: true }).click());
  await weigh({ ...pages, login: "/login" }, context);
  console.log(`✓ ${RESULTS}`);
}

/** What a first visit of each page takes: requests, bytes over the wire, elements, layout shift (0: nothing jumps). */
async function weigh(pages, context) {
  const rows = ["| page | requests | kB, compressed | of it HTML | elements | layout shift |", "|---|---|---|---|---|---|"];
  const state = await context.storageState();
  for (const [name, address] of Object.entries(pages)) {
    const fresh = await browser.newContext({ storageState: state, viewport: { width: 1280, height: 860 } });
    const page = await fresh.newPage();
    const wire = await fresh.newCDPSession(page);
    const types = new Map();
    const bytes = { all: 0, Document: 0, requests: 0 };
    await wire.send("Network.enable");
    wire.on("Network.responseReceived", ({ requestId, type }) => types.set(requestId, type));
    wire.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      bytes.requests++;
      bytes.all += encodedDataLength;
      if (types.get(requestId) === "Document") bytes.Document += encodedDataLength;
    });
    await page.addInitScript(() => {
      window.shift = 0;
      const add = (list) => list.getEntries().forEach((entry) => (window.shift += entry.value));
      new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
    });
    await page.goto(server.url + address, { waitUntil: "networkidle" });
    const [elements, shift] = await page.evaluate(() => [document.querySelectorAll("*").length, window.shift]);
    const kb = (n) => (n / 1000).toFixed(1);
    rows.push(`| ${name} | ${bytes.requests} | ${kb(bytes.all)} | ${kb(bytes.Document)} | ${elements} | ${shift.toFixed(3)} |`);
    await fresh.close();
  }
  await writeFile(path.join(RESULTS, "pages.md"), `${rows.join("\n")}\n`);
}

async function shootForDocs(name, address, context, height) {
  const page = await context.newPage();
  await page.setViewportSize({ width: 1280, height });
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await page.goto(server.url + address, { waitUntil: "networkidle" });
  await page.screenshot({ path: path.join(REPO, "docs", `${name}.png`) });
  await page.close();
}

/** From a client's request to the client that is connected: ChatGPT's request, and the inspector. */
async function shootConnecting(context) {
  const page = await context.newPage();
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  const shoot = (name) => page.screenshot({ path: path.join(REPO, "docs", `${name}.png`) });
  await page.setViewportSize({ width: 760, height: 880 });
  await page.goto(`${server.url}${await requestOfChatgpt()}`, { waitUntil: "networkidle" });
  await shoot("consent");
  if (packagesMissing) {
    console.error(`! no pictures of the inspector: ${packagesMissing}`);
    return page.close();
  }
  const inspector = await startInspector(`${server.url}/mcp`);
  try {
    await connectInspector(page, inspector);
    await page.getByLabel("Tools", { exact: true }).selectOption("connector");
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.getByText("Tools", { exact: true }).first().click();
    await page.getByText("fetch", { exact: true }).click();
    await page.setViewportSize({ width: 1280, height: 620 });
    await page.getByText("Authorization complete").waitFor({ state: "hidden" });
    await shoot("inspector");
    await page.setViewportSize({ width: 1000, height: 740 });
    await page.goto(`${server.url}/agents`, { waitUntil: "networkidle" });
    await page.locator(".agent > summary").click();
    await shoot("connection");
  } finally {
    await inspector.stop();
    await page.close();
  }
}

/** As ChatGPT sends its person to the consent page. */
async function requestOfChatgpt() {
  const callback = "https://chatgpt.com/connector/oauth/example";
  const metadata = JSON.stringify({ client_name: "ChatGPT", redirect_uris: [callback] });
  const registered = await fetch(`${server.url}/oauth/register`, { method: "POST", body: metadata });
  const query = new URLSearchParams({
    response_type: "code",
    client_id: (await registered.json()).client_id,
    redirect_uri: callback,
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256",
    resource: `${server.url}/mcp`,
  });
  return `/oauth/authorize?${query}`;
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
