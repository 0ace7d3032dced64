/**
 * Claude's memory tool (`memory_20250818`) with a Keepsake server behind it.
 *
 * Each command is one request to `memory_files`. What the server refuses reaches the model as a `ToolError` in the
 * server's words. Nothing that the server may have begun is sent twice: `create`, `insert` and `rename` are not idempotent.
 */
import type { MemoryToolHandlers } from "@anthropic-ai/sdk/helpers/beta/memory";
import { ToolError } from "@anthropic-ai/sdk/lib/tools/ToolError";

import { KeepsakeError } from "./errors.js";
import { Server, type KeepsakeOptions } from "./server.js";

export type { KeepsakeOptions } from "./server.js";

type Command = keyof MemoryToolHandlers;
type Input = Parameters<MemoryToolHandlers[Command]>[0];

/** The server refuses fields that a command does not have. */
const FIELDS: Record<Command, string[]> = {
  view: ["path", "view_range"],
  create: ["path", "file_text"],
  str_replace: ["path", "old_str", "new_str"],
  insert: ["path", "insert_line", "insert_text"],
  delete: ["path"],
  rename: ["old_path", "new_path"],
};

/** For the SDK's `betaMemoryTool(handlers, { cache_control })`. */
export function keepsakeMemory(options: KeepsakeOptions = {}): MemoryToolHandlers {
  const server = new Server(options);
  const send = (command: Input) =>
    server.send<{ output: string }>({ method: "POST", path: "/api/v1/tools/memory_files", field: "output", body: body(command) });
  const run = async (command: Input) => (await send(command).catch(tell)).output;
  return { view: run, create: run, str_replace: run, insert: run, delete: run, rename: run };
}

/**
 * Deletes all files. On the server they are archived: their owner can restore them.
 *
 * It is not among the handlers, because `betaMemoryTool` calls whichever of them the model names.
 */
export async function clearAllMemory(options: KeepsakeOptions = {}): Promise<string> {
  await new Server(options).send({ method: "DELETE", path: "/api/v1/documents", field: "archived" }).catch(tell);
  return "All memory cleared";
}

/** What the command has. A field that the model left out is left to the server, which names it. */
function body(command: Input): object {
  const fields = Object.entries(command).filter(([name, value]) => FIELDS[command.command].includes(name) && value !== null);
  return { ...Object.fromEntries(fields), command: command.command };
}

/** As the model reads it. */
function tell(error: unknown): never {
  if (!(error instanceof KeepsakeError)) throw error;
  const advice = error.code === "unreachable" ? " Look at the file before you repeat a change." : "";
  throw Object.assign(new ToolError(`${error.message}${advice}`), { cause: error });
}
