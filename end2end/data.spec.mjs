import { test } from "node:test";
import { data } from "./data.mjs";

test("your data, without JavaScript", (t) => data(t, { javaScriptEnabled: false }));
