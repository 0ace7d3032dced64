import { test } from "node:test";
import { teams } from "./teams.mjs";

test("teams, without JavaScript", (t) => teams(t, { javaScriptEnabled: false }));
