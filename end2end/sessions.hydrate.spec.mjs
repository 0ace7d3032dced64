import { test } from "node:test";
import { islandsMissing } from "./server.mjs";
import { sessions } from "./sessions.mjs";

test("sessions, with JavaScript", { skip: islandsMissing }, (t) => sessions(t, { javaScriptEnabled: true }));
