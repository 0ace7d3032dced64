// The TypeScript SDK's memory tool, over Keepsake or over the SDK's own files: run.py sends commands, and reads what the
// model would. tools/clients.sh puts this beside the built package, where its imports are found.
//
//     node drive.mjs keepsake|files|clear      reads KEEPSAKE_URL, KEEPSAKE_TOKEN, TIMEOUT_MS, FOLDER and standard input

import { text } from "node:stream/consumers";

import { runRunnableTool } from "@anthropic-ai/sdk/lib/tools/BetaRunnableTool";
import { BetaLocalFilesystemMemoryTool, betaMemoryTool } from "@anthropic-ai/sdk/tools/memory/node";
import { clearAllMemory, keepsakeMemory } from "keepsake-memory";

const timeout = process.env.TIMEOUT_MS && Number(process.env.TIMEOUT_MS);
const CACHE = { type: "ephemeral" };

const HANDLERS = {
  keepsake: () => keepsakeMemory({ timeout }),
  files: () => BetaLocalFilesystemMemoryTool.init(process.env.FOLDER),
  clear: () => ({ clear: () => clearAllMemory({ timeout }) }),
};

const tool = betaMemoryTool(await HANDLERS[process.argv[2]](), { cache_control: CACHE });
const answers = [];
for (const command of JSON.parse(await text(process.stdin))) {
  const { content, isError } = await runRunnableTool(tool, command, {});
  answers.push([content, isError]);
}
const { type, name, cache_control } = tool;
console.log(JSON.stringify({ answers, definition: { type, name, cache_control } }));
