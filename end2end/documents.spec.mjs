import { test } from "node:test";
import { documents } from "./documents.mjs";

test("documents, without JavaScript", (t) => documents(t, { javaScriptEnabled: false }));
