import { test } from "node:test";
import { embeddings } from "./embeddings.mjs";

test("vectors, without JavaScript", (t) => embeddings(t, { javaScriptEnabled: false }));
