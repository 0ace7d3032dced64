import { test } from "node:test";
import { webhooks } from "./webhooks.mjs";

test("webhooks, without JavaScript", (t) => webhooks(t, { javaScriptEnabled: false }));
