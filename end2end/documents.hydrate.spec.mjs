import { test } from "node:test";
import { documents } from "./documents.mjs";
import { islandsMissing } from "./server.mjs";

test("documents, with JavaScript", { skip: islandsMissing }, (t) => documents(t, { javaScriptEnabled: true }));
