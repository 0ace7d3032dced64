import { test } from "node:test";
import { entities } from "./entities.mjs";
import { islandsMissing } from "./server.mjs";

test("entities, with JavaScript", { skip: islandsMissing }, (t) => entities(t, { javaScriptEnabled: true }));
