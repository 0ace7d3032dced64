import { test } from "node:test";
import { teams } from "./teams.mjs";
import { islandsMissing } from "./server.mjs";

test("teams, with JavaScript", { skip: islandsMissing }, (t) => teams(t, { javaScriptEnabled: true }));
