import { test } from "node:test";
import { webhooks } from "./webhooks.mjs";
import { islandsMissing } from "./server.mjs";

test("webhooks, with JavaScript", { skip: islandsMissing }, (t) => webhooks(t, { javaScriptEnabled: true }));
