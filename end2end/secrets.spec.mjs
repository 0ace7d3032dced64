import { test } from "node:test";
import { secrets } from "./secrets.mjs";

test("secrets, without JavaScript", (t) => secrets(t, { javaScriptEnabled: false }));
