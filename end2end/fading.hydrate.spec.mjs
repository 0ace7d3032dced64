import { test } from "node:test";
import { fading } from "./fading.mjs";
import { islandsMissing } from "./server.mjs";

test("fading, with JavaScript", { skip: islandsMissing }, (t) => fading(t, { javaScriptEnabled: true }));
