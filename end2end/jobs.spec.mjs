import { test } from "node:test";
import { jobs } from "./jobs.mjs";

test("jobs, without JavaScript", (t) => jobs(t, { javaScriptEnabled: false }));
