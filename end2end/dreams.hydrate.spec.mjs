import { test } from "node:test";
import { dreams } from "./dreams.mjs";
import { islandsMissing } from "./server.mjs";

test("learned and dreams, with JavaScript", { skip: islandsMissing }, (t) => dreams(t, { javaScriptEnabled: true }));
