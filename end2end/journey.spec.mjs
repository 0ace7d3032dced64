import { test } from "node:test";
import { journey } from "./journey.mjs";

test("the journey, without JavaScript", (t) => journey(t, { javaScriptEnabled: false }));
