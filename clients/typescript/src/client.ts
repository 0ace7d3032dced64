/** The client for one's own programs. */
import { recall, type RecallOptions } from "./recall.js";
import type {
  MemoryAddRequest, MemoryAddResponse, MemoryForgetResponse, MemoryRecallResponse, MemorySearchRequest, MemorySearchResponse, MemorySummaryResponse,
} from "./schema.js";
import { Server, type KeepsakeOptions } from "./server.js";
import { Session } from "./session.js";

export type { RecallOptions } from "./recall.js";
export type RememberOptions = Partial<Pick<MemoryAddRequest, "type" | "theme" | "key" | "tags">>;
export type SearchOptions = Pick<MemorySearchRequest, "limit" | "theme" | "types" | "status" | "recency_days" | "cursor">;

/** What a program asks a Keepsake server. What goes wrong is a `KeepsakeError`. */
export class Keepsake {
  readonly #server: Server;

  constructor(options: KeepsakeOptions = {}) {
    this.#server = new Server(options);
  }

  /**
   * What is remembered that this turn is about. Put `section` before the user's message; it is often empty.
   *
   * `message` is what the user wrote, or a list of the last few. With `session` nothing is told twice in a session.
   */
  recall(message: string | readonly string[], options: RecallOptions = {}): Promise<MemoryRecallResponse> {
    return this.#server.send(recall(message, options));
  }

  /** Adds one statement. With a `key` it takes the place of the item that has this key. */
  remember(content: string, { type = "fact", ...more }: RememberOptions = {}): Promise<MemoryAddResponse> {
    return this.#tool("memory_add", "id", { ...more, type, content });
  }

  /** Finds items by meaning and by words. `"*"` lists the newest; `cursor` reads on. */
  search(query: string, options: SearchOptions = {}): Promise<MemorySearchResponse> {
    return this.#tool("memory_search", "results", { limit: 10, ...options, query });
  }

  /** Archives every item that has this key. Their owner can restore them. */
  forget(key: string, { theme }: { theme?: string } = {}): Promise<MemoryForgetResponse> {
    return this.#tool("memory_forget", "archived", { key, theme });
  }

  /** Who the user is, in a few paragraphs. `summary` is null where there is none; `reason` says why. */
  summary(): Promise<MemorySummaryResponse> {
    return this.#server.send({ method: "GET", path: "/api/v1/summary", field: "summary" });
  }

  /** A conversation, by your own id of it. The server makes it with its first message. */
  session(externalId: string): Session {
    return new Session(this.#server, externalId);
  }

  #tool<Answer>(name: string, field: string, body: object): Promise<Answer> {
    return this.#server.send({ method: "POST", path: `/api/v1/tools/${name}`, field, body });
  }
}
