import { test } from "node:test";
import { data } from "./data.mjs";
import { islandsMissing } from "./server.mjs";

test("your data, with JavaScript", { skip: islandsMissing }, (t) => data(t, { javaScriptEnabled: true }));
