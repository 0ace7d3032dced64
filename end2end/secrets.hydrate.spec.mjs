import { test } from "node:test";
import { secrets } from "./secrets.mjs";
import { islandsMissing } from "./server.mjs";

test("secrets, with JavaScript", { skip: islandsMissing }, (t) => secrets(t, { javaScriptEnabled: true }));
