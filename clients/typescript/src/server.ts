/** The requests to a server, and how their answers read. */
import { setTimeout as sleep } from "node:timers/promises";

import { KeepsakeError } from "./errors.js";

export interface KeepsakeOptions {
  /** KEEPSAKE_URL or http://127.0.0.1:3000 when left out. */
  url?: string | undefined;
  /** From the page Agents & tokens; KEEPSAKE_TOKEN when left out. */
  token?: string | undefined;
  /** In milliseconds; 30,000 when left out. */
  timeout?: number | undefined;
}

export interface Request {
  method: "GET" | "POST" | "DELETE";
  path: string;
  /** A field that each answer has: without it the answer is not Keepsake's. */
  field: string;
  body?: object;
  /** The server may take so long, in milliseconds. */
  wait?: number;
}

const URL_DEFAULT = "http://127.0.0.1:3000";
const TIMEOUT_MS = 30_000;
/** A request that the server puts off for longer is not sent again. */
const RETRY_AFTER_SECONDS_MAX = 5;

export class Server {
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

  /** `Answer` is the type of what comes back. */
  async send<Answer>(request: Request): Promise<Answer> {
    let [response, text] = await this.#fetch(request);
    const seconds = putOff(response);
    if (seconds !== undefined) {
      await sleep(seconds * 1000);
      [response, text] = await this.#fetch(request);
    }
    const status = response.status;
    const answer = parse(text);
    if (response.ok && request.field in answer) return answer as Answer;
    const { detail, code, field } = answer;
    if (typeof detail === "string" && typeof code === "string") {
      throw new KeepsakeError(detail, { status, code, field: typeof field === "string" ? field : undefined });
    }
    throw new KeepsakeError(`What answers at ${this.#origin} is not Keepsake (HTTP ${status}).`, { status, code: "not_keepsake" });
  }

  async #fetch({ method, path, body, wait = 0 }: Request): Promise<[Response, string]> {
    const signal = AbortSignal.timeout(this.#timeout + wait);
    const sent = body === undefined ? null : JSON.stringify(body);
    try {
      const response = await fetch(this.#url + path, { method, body: sent, headers: this.#headers, redirect: "manual", signal });
      return [response, await response.text()];
    } catch (cause) {
      throw new KeepsakeError(`Keepsake does not answer at ${this.#origin}.`, { code: "unreachable", cause });
    }
  }
}

/** The seconds after which the server takes the request: it has not begun it. */
function putOff(response: Response): number | undefined {
  const after = response.headers.get("retry-after") ?? "";
  const isSoon = response.status === 429 && /^[0-9]+$/.test(after) && Number(after) <= RETRY_AFTER_SECONDS_MAX;
  return isSoon ? Number(after) : undefined;
}

function parse(text: string): Record<string, unknown> {
  try {
    const answer: unknown = JSON.parse(text);
    return typeof answer === "object" && answer !== null ? { ...answer } : {};
  } catch {
    return {};
  }
}
