// The Keepsake servers of the specs: the one that all of them share, each with users of its own, and another for a spec that
// says why.

import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const REPO = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
export const BINARY = path.resolve(REPO, process.env.KEEPSAKE_BIN || path.join(process.env.CARGO_TARGET_DIR || "target", "debug/keepsake"));
export const SITE = path.join(REPO, "target/site");
export const PASSWORD = "a long sentence about tea";

const START_TIMEOUT_MS = 300_000;
const STOP_TIMEOUT_MS = 120_000;
const LOG_KEPT = 20_000;

/** Why the islands cannot be tested here; false when they can. */
export const islandsMissing =
  !existsSync(path.join(SITE, "pkg/keepsake.wasm")) &&
  "target/site/pkg/keepsake.wasm is missing: `python3 tools/wasm.py` makes it";

/** The server that all specs share: of tools/server.py, which a spec that is run alone starts for itself. */
export async function joinServer() {
  const given = await surroundings();
  return serverAt(given.KEEPSAKE_TEST_URL, given.KEEPSAKE_TEST_DATABASE_URL, { KEEPSAKE_DATA_DIR: given.KEEPSAKE_TEST_DATA_DIR });
}

/** A server of its own, for what would be in the way of others, or others of it: `reason` says what. */
export async function startServer(reason) {
  const dataDir = await mkdtemp(path.join(tmpdir(), "keepsake-end2end-"));
  const runtime = path.join(REPO, "data/runtime");
  await mkdir(runtime, { recursive: true });
  await symlink(runtime, path.join(dataDir, "runtime"));
  const database = new URL((await surroundings()).KEEPSAKE_TEST_DATABASE_URL);
  const name = `own_${randomBytes(4).toString("hex")}`;
  await sql(database.href, `CREATE DATABASE ${name}`);
  database.pathname = name;
  const listen = `127.0.0.1:${await freePort()}`;
  const server = serverAt(`http://${listen}`, database.href, {
    KEEPSAKE_LISTEN: listen,
    KEEPSAKE_DATA_DIR: dataDir,
    KEEPSAKE_BACKUP_DIR: path.join(dataDir, "backups"),
    KEEPSAKE_SITE_DIR: SITE,
    KEEPSAKE_STOP_GRACE_SECONDS: "0",
  });

  let log = "";
  const child = spawn(BINARY, ["serve"], { cwd: dataDir, env: server.env, stdio: ["ignore", "pipe", "pipe"] });
  const keep = (chunk) => (log = (log + chunk).slice(-LOG_KEPT));
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  let hasEnded = false;
  const ended = new Promise((resolve) => {
    child.on("error", (error) => resolve(keep(error.message)));
    child.on("close", resolve);
  }).then(() => (hasEnded = true));
  const stopNow = () => child.kill("SIGTERM");
  process.once("exit", stopNow);

  const stop = async () => {
    stopNow();
    const isDone = await Promise.race([ended, sleep(STOP_TIMEOUT_MS, false, { ref: false })]);
    process.off("exit", stopNow);
    if (!isDone) throw new Error(`the server for \`${reason}\` did not stop on SIGTERM; its log ends:\n${log}`);
    await rm(dataDir, { recursive: true, force: true });
  };

  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await answers(`${server.url}/readyz`))) {
    if (hasEnded || Date.now() > deadline) {
      await stop();
      throw new Error(`the server for \`${reason}\` ${hasEnded ? "ended" : "was not ready in time"}; its log ends:\n${log}`);
    }
    await sleep(50);
  }
  return { ...server, stop };
}

/** What tools/with_postgres.py and tools/server.py hand on; where they do not run, they do until this process ends. */
function surroundings() {
  return process.env.KEEPSAKE_TEST_URL ? process.env : (alone ??= startSurroundings());
}
let alone;

async function startSurroundings() {
  const tell = "console.log(JSON.stringify(process.env)); process.stdin.resume()";
  const command = ["tools/with_postgres.py", "python3", "tools/server.py", process.execPath, "-e", tell];
  const child = spawn("python3", command, { cwd: REPO, stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit").then(([code]) => Promise.reject(new Error(`the shared server did not start: exit code ${code}`)));
  const [line] = await Promise.race([once(createInterface(child.stdout), "line"), ended]);
  ended.catch(() => {});
  for (const one of [child, child.stdin, child.stdout]) one.unref();
  return JSON.parse(line);
}

/** As the database's superuser. */
async function sql(database, query) {
  const psql = (await surroundings()).KEEPSAKE_TEST_PSQL ?? "psql";
  return execFileSync(psql, [database, "-v", "ON_ERROR_STOP=1", "-Atc", query], { encoding: "utf8" }).trim();
}

function serverAt(url, database, variables) {
  if (!existsSync(BINARY)) throw new Error(`${BINARY} is missing: build it, or set KEEPSAKE_BIN`);
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("KEEPSAKE_"));
  const env = { ...Object.fromEntries(inherited), KEEPSAKE_DATABASE_URL: database, ...variables };

  /** Makes an admin's account, which may name this machine as an endpoint; returns its address. */
  const makeUser = (name, id) => {
    const email = `${name}-${id}@example.com`;
    const create = ["user", "create", "--email", email, "--admin", "--password-stdin"];
    execFileSync(BINARY, create, { env: { ...env, KEEPSAKE_LOG: "error" }, input: `${PASSWORD}\n` });
    return email;
  };
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
  return { url, env, makeUser, tool, session, sql: (query) => sql(database, query) };
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
