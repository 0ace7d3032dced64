import { test } from "node:test";
import { backups } from "./backups.mjs";

test("backups, without JavaScript", (t) => backups(t, { javaScriptEnabled: false }));
