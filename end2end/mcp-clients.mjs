// MCP clients that a person opens in a browser: the inspector, and a page with the official client, which calls the server
// directly. Their packages are those of mcp/.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { REPO, freePort } from "./server.mjs";

const MCP = path.join(REPO, "end2end/mcp");
const INSPECTOR = path.join(MCP, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
const ROLLDOWN = path.join(MCP, "node_modules/rolldown/dist/index.mjs");
const START_TIMEOUT_MS = 60_000;

/** Why these clients cannot be tested here; false when they can. */
export const packagesMissing =
  !(existsSync(INSPECTOR) && existsSync(ROLLDOWN)) &&
  "packages of end2end/mcp are missing: `npm ci --prefix end2end/mcp --ignore-scripts` installs them";

/** The inspector's pages, with one server in their list. */
export async function startInspector(mcpUrl) {
  const home = await mkdtemp(path.join(tmpdir(), "keepsake-inspector-"));
  const port = await freePort();
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    CLIENT_PORT: String(port),
    MCP_SANDBOX_PORT: String(await freePort()),
    MCP_STORAGE_DIR: path.join(home, "storage"),
    MCP_INSPECTOR_SECRET_STORE: "memory",
    MCP_AUTO_OPEN_ENABLED: "false",
    DANGEROUSLY_OMIT_AUTH: "true", // of its own pages
  };
  const args = [INSPECTOR, "--web", "--transport", "http", "--server-url", mcpUrl];
  const child = spawn(process.execPath, args, { cwd: home, env, stdio: "ignore" });
  const ended = once(child, "close");
  const stopNow = () => child.kill("SIGTERM");
  process.once("exit", stopNow);
  const stop = async () => {
    stopNow();
    await ended;
    process.off("exit", stopNow);
    await rm(home, { recursive: true, force: true });
  };
  const url = `http://localhost:${port}`;
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await fetch(url).then((answer) => answer.ok, () => false))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop();
      throw new Error("the inspector did not start");
    }
    await sleep(100);
  }
  return { url, stop };
}

/** Opens the inspector and presses its switch, which leads to the consent page. */
export async function connectInspector(page, inspector) {
  // Its fonts are elsewhere.
  await page.route(/fonts\.(googleapis|gstatic)\.com/, (route) => route.abort());
  await page.goto(inspector.url);
  await page.getByRole("switch", { name: /^Connect or disconnect/ }).dispatchEvent("click");
  await page.getByRole("heading", { name: "Connect MCP Inspector" }).waitFor();
}

/** Serves mcp/page.mjs, bundled for the browser, on an origin of its own. */
export async function servePage() {
  const { build } = await import(ROLLDOWN);
  const input = path.join(MCP, "page.mjs");
  const { output } = await build({ input, platform: "browser", write: false, output: { format: "esm" }, logLevel: "silent" });
  const server = createServer((request, response) => {
    const isScript = request.url === "/page.js";
    response.writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" });
    response.end(isScript ? output[0].code : "<!doctype html><title>waiting</title><body><script type=module src=/page.js></script>");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: server.address().port, stop: () => server.close() };
}
