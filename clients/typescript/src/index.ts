/**
 * Claude's memory tool (`memory_20250818`) with a Keepsake server behind it.
 *
 * Each command is one request to `memory_files`. What the server refuses reaches the model as a `ToolError` in the
 * server's words. Nothing is sent twice: `create`, `insert` and `rename` are not idempotent.
 */
import type { MemoryToolHandlers } from "@anthropic-ai/sdk/helpers/beta/memory";
import { ToolError } from "@anthropic-ai/sdk/lib/tools/ToolError";

export interface KeepsakeOptions {
  /** KEEPSAKE_URL or http://127.0.0.1:3000 when left out. */
  url?: string | undefined;
  /** From the page Agents & tokens; KEEPSAKE_TOKEN when left out. */
  token?: string | undefined;
  /** In milliseconds; 30,000 when left out. */
  timeout?: number | undefined;
}

type Command = keyof MemoryToolHandlers;
type Input = Parameters<MemoryToolHandlers[Command]>[0];

const URL_DEFAULT = "http://127.0.0.1:3000";
const TIMEOUT_MS = 30_000;
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
  const run = (command: Input) => server.send("POST", "/api/v1/tools/memory_files", "output", body(command));
  return { view: run, create: run, str_replace: run, insert: run, delete: run, rename: run };
}

/**
 * Deletes all files. On the server they are archived: their owner can restore them.
 *
 * It is not among the handlers, because `betaMemoryTool` calls whichever of them the model names.
 */
export async function clearAllMemory(options: KeepsakeOptions = {}): Promise<string> {
  await new Server(options).send("DELETE", "/api/v1/documents", "archived");
  return "All memory cleared";
}

/** What the command has. A field that the model left out is left to the server, which names it. */
function body(command: Input): string {
  const fields = Object.entries(command).filter(([name, value]) => FIELDS[command.command].includes(name) && value !== null);
  return JSON.stringify({ ...Object.fromEntries(fields), command: command.command });
}

/** The requests, and how their answers read. */
class Server {
  readonly #url: string;
  readonly #origin: string;
  readonly #headers: Record<string, string>;
  readonly #timeout: number;

  constructor({ url, token, timeout }: KeepsakeOptions) {
    const address = url || process.env["KEEPSAKE_URL"] || URL_DEFAULT;
    const secret = (token || process.env["KEEPSAKE_TOKEN"] || "").trim();
    // Checked here, because an error further down would quote the token, or a password in the address.
    if (!/^[!-~]+$/.test(secret)) {
      throw new TypeError("`token` is missing or is no token: pass one that you made on the page Agents & tokens, or set KEEPSAKE_TOKEN.");
    }
    const [origin] = /^https?:\/\/[^/@\s]+(?=\/|$)/.exec(address) ?? [];
    if (!origin) {
      throw new TypeError("`url` is no address: pass one such as http://127.0.0.1:3000, or set KEEPSAKE_URL.");
    }
    this.#url = address.replace(/\/+$/, "");
    this.#origin = origin;
    this.#headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    this.#timeout = timeout ?? TIMEOUT_MS;
  }

  /** This field of the answer; what was refused is a `ToolError`. */
  async send(method: string, path: string, field: string, body: string | null = null): Promise<string> {
    const [status, text] = await this.#fetch(method, path, body);
    const answer = parse(text);
    if (status === 200 && field in answer) return answer[field] as string;
    if (typeof answer["detail"] === "string") throw new ToolError(answer["detail"]);
    throw new ToolError(`What answers at ${this.#origin} is not Keepsake (HTTP ${status}).`);
  }

  async #fetch(method: string, path: string, body: string | null): Promise<[number, string]> {
    const signal = AbortSignal.timeout(this.#timeout);
    try {
      const response = await fetch(this.#url + path, { method, body, headers: this.#headers, redirect: "manual", signal });
      return [response.status, await response.text()];
    } catch (cause) {
      const error = new ToolError(`Keepsake does not answer at ${this.#origin}; look at the file before you repeat a change.`);
      throw Object.assign(error, { cause });
    }
  }
}

function parse(text: string): Record<string, unknown> {
  try {
    const answer: unknown = JSON.parse(text);
    return typeof answer === "object" && answer !== null ? { ...answer } : {};
  } catch {
    return {};
  }
}
