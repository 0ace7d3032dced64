// Runs the specs side by side in one Chromium, on the server of tools/server.py: all of them, or those that are named.
//
//     npm test --prefix end2end [-- dreams.spec.mjs …]

import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { chromium } from "playwright-core";
import { options } from "./browser.mjs";
import { REPO } from "./server.mjs";

const HERE = path.join(REPO, "end2end");
const AT_ONCE = 3;
// What takes longest comes first, so that nothing is left alone at the end.
const FIRST = ["pages.spec.mjs", "embeddings.spec.mjs", "server.spec.mjs", "keyboard.spec.mjs"];

const all = (await readdir(HERE)).filter((name) => name.endsWith(".spec.mjs") && !FIRST.includes(name));
const named = process.argv.slice(2);
const browser = await chromium.launchServer({ ...options(), handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false });
const command = ["--test", `--test-concurrency=${AT_ONCE}`, "--test-reporter=spec", ...(named.length ? named : [...FIRST, ...all])];
const env = { ...process.env, KEEPSAKE_TEST_BROWSER: browser.wsEndpoint() };
const tests = spawn(process.execPath, command, { cwd: HERE, env, stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => tests.kill(signal));
browser.on("close", () => tests.kill("SIGTERM")); // without it every spec would fail, one after the other
const code = await new Promise((resolve) => tests.on("close", resolve));
browser.removeAllListeners("close");
await browser.close();
process.exit(code ?? 1);
