import { test } from "node:test";
import { jobs } from "./jobs.mjs";
import { islandsMissing } from "./server.mjs";

test("jobs, with JavaScript", { skip: islandsMissing }, (t) => jobs(t, { javaScriptEnabled: true }));
