import { test } from "node:test";
import { journey } from "./journey.mjs";
import { islandsMissing } from "./server.mjs";

test("the journey, with JavaScript", { skip: islandsMissing }, (t) => journey(t, { javaScriptEnabled: true }));
