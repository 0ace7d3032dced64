import { test } from "node:test";
import { backups } from "./backups.mjs";
import { islandsMissing } from "./server.mjs";

test("backups, with JavaScript", { skip: islandsMissing }, (t) => backups(t, { javaScriptEnabled: true }));
