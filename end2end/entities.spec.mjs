import { test } from "node:test";
import { entities } from "./entities.mjs";

test("entities, without JavaScript", (t) => entities(t, { javaScriptEnabled: false }));
