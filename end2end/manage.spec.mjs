import { test } from "node:test";
import { manage } from "./manage.mjs";

test("managing a memory, without JavaScript", (t) => manage(t, { javaScriptEnabled: false }));
