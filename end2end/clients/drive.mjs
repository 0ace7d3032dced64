// The TypeScript SDK's memory tool, over Keepsake or over the SDK's own files: run.py sends commands, and reads what the
// model would. Or the client for one's own programs: own_programs.py sends calls of its methods. tools/clients.sh puts this beside the built package, where its imports are found.
//
//     node drive.mjs keepsake|files|clear|client      reads KEEPSAKE_URL, KEEPSAKE_TOKEN, TIMEOUT_MS, FOLDER and standard input

import { text } from "node:stream/consumers";

import { runRunnableTool } from "@anthropic-ai/sdk/lib/tools/BetaRunnableTool";
import { BetaLocalFilesystemMemoryTool, betaMemoryTool } from "@anthropic-ai/sdk/tools/memory/node";
import { Keepsake, KeepsakeError } from "keepsake-memory";
import { clearAllMemory, keepsakeMemory } from "keepsake-memory/memory-tool";

const timeout = process.env.TIMEOUT_MS && Number(process.env.TIMEOUT_MS);
const CACHE = { type: "ephemeral" };

const HANDLERS = {
  keepsake: () => keepsakeMemory({ timeout }),
  files: () => BetaLocalFilesystemMemoryTool.init(process.env.FOLDER),
  clear: () => ({ clear: () => clearAllMemory({ timeout }) }),
};

const sent = JSON.parse(await text(process.stdin));
console.log(JSON.stringify(process.argv[2] === "client" ? await called(sent) : await commanded(sent)));

async function commanded(commands) {
  const tool = betaMemoryTool(await HANDLERS[process.argv[2]](), { cache_control: CACHE });
  const answers = [];
  for (const command of commands) {
    const { content, isError } = await runRunnableTool(tool, command, {});
    answers.push([content, isError]);
  }
  const { type, name, cache_control } = tool;
  return { answers, definition: { type, name, cache_control } };
}

async function called(calls) {
  const client = new Keepsake({ timeout });
  const answers = [];
  for (const { session, method, given, options } of calls) {
    const target = session === null ? client : client.session(session);
    const name = method === "add_many" ? "addMany" : method;
    try {
      answers.push({ answer: await target[name](...given, ...(Object.keys(options).length ? [options] : [])) });
    } catch (error) {
      if (!(error instanceof KeepsakeError)) throw error;
      const { message, status = null, code, field = null } = error;
      answers.push({ error: [message, status, code, field] });
    }
  }
  return answers;
}
