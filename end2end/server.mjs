// A Keepsake server for one spec: its own data folder, a free port, gone afterwards.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const REPO = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
export const BINARY = path.resolve(REPO, process.env.KEEPSAKE_BIN || "target/debug/keepsake");
export const SITE = path.join(REPO, "target/site");

const START_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 20_000;
const LOG_KEPT = 20_000;

/** Why the islands cannot be tested here; false when they can. */
export const islandsMissing =
  !existsSync(path.join(SITE, "pkg/keepsake.wasm")) &&
  "target/site/pkg/keepsake.wasm is missing: `python3 tools/wasm.py` makes it";

export async function startServer() {
  if (!existsSync(BINARY)) throw new Error(`${BINARY} is missing: build it, or set KEEPSAKE_BIN`);
  // As root the server hands PostgreSQL to another user, who must be able to get here.
  const dataDir = await mkdtemp(path.join(process.getuid?.() === 0 ? "/tmp" : tmpdir(), "keepsake-end2end-"));
  await chmod(dataDir, 0o755);
  const runtime = path.join(REPO, "data/runtime");
  await mkdir(runtime, { recursive: true });
  await symlink(runtime, path.join(dataDir, "runtime"));

  const listen = `127.0.0.1:${await freePort()}`;
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("KEEPSAKE_"));
  const env = {
    ...Object.fromEntries(inherited),
    KEEPSAKE_LISTEN: listen,
    KEEPSAKE_DATA_DIR: dataDir,
    KEEPSAKE_SITE_DIR: SITE,
    KEEPSAKE_STOP_GRACE_SECONDS: "0",
  };
  let log = "";
  const child = spawn(BINARY, ["serve"], { cwd: dataDir, env, stdio: ["ignore", "pipe", "pipe"] });
  const keep = (chunk) => (log = (log + chunk).slice(-LOG_KEPT));
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const ended = new Promise((resolve) => {
    child.on("error", (error) => resolve(keep(error.message)));
    child.on("close", resolve);
  });
  let hasEnded = false;
  ended.then(() => (hasEnded = true));
  const stopNow = () => child.kill("SIGTERM");
  process.once("exit", stopNow);

  const stop = async () => {
    stopNow();
    const isDone = await Promise.race([ended.then(() => true), sleep(STOP_TIMEOUT_MS, false, { ref: false })]);
    process.off("exit", stopNow);
    if (!isDone) throw new Error(`the server did not stop on SIGTERM; its log ends:\n${log}`);
    await rm(dataDir, { recursive: true, force: true });
  };

  const url = `http://${listen}`;
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await answers(`${url}/readyz`))) {
    if (hasEnded || Date.now() > deadline) {
      await stop();
      throw new Error(`the server ${hasEnded ? "ended" : "was not ready in time"}; its log ends:\n${log}`);
    }
    await sleep(100);
  }

  const post = async (token, path, body) => {
    const response = await fetch(`${url}/api/v1/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return response.json();
  };
  /** Calls a tool through the REST door, as an agent does. */
  const tool = (token, name, input) => post(token, `tools/${name}`, input);
  /** Hands over a conversation, and says that it has ended. */
  const session = async (token, id, messages) => {
    await post(token, `sessions/${id}/messages`, { messages });
    return post(token, `sessions/${id}/complete`, {});
  };

  return { url, listen, env, tool, session, stop };
}

async function answers(url) {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
