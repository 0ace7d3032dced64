import { test } from "node:test";
import { oauth } from "./oauth.mjs";
import { islandsMissing } from "./server.mjs";

test("a client is connected by OAuth, with JavaScript", { skip: islandsMissing }, (t) => oauth(t, { javaScriptEnabled: true }));
