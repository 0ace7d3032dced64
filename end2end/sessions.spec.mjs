import { test } from "node:test";
import { sessions } from "./sessions.mjs";

test("sessions, without JavaScript", (t) => sessions(t, { javaScriptEnabled: false }));
