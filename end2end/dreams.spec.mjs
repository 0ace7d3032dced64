import { test } from "node:test";
import { dreams } from "./dreams.mjs";

test("learned and dreams, without JavaScript", (t) => dreams(t, { javaScriptEnabled: false }));
