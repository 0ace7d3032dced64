import { test } from "node:test";
import { manage } from "./manage.mjs";
import { islandsMissing } from "./server.mjs";

test("managing a memory, with JavaScript", { skip: islandsMissing }, (t) => manage(t, { javaScriptEnabled: true }));
