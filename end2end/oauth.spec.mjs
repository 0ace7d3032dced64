import { test } from "node:test";
import { oauth } from "./oauth.mjs";

test("a client is connected by OAuth, without JavaScript", (t) => oauth(t, { javaScriptEnabled: false }));
