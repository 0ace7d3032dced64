import { test } from "node:test";
import { fading } from "./fading.mjs";

test("fading, without JavaScript", (t) => fading(t, { javaScriptEnabled: false }));
