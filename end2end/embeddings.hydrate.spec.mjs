import { test } from "node:test";
import { embeddings } from "./embeddings.mjs";
import { islandsMissing } from "./server.mjs";

test("vectors, with JavaScript", { skip: islandsMissing }, (t) => embeddings(t, { javaScriptEnabled: true }));
