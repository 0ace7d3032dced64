/** One conversation. */
import { recall, type RecallOptions } from "./recall.js";
import type { FlushRequest, FlushResponse, MemoryRecallResponse, Session as SessionState, SessionMessagesRequest, SessionMessagesResponse } from "./schema.js";
import type { Server } from "./server.js";

type Sent = SessionMessagesRequest["messages"][number];
/** Without an `id` it gets a new one: it is kept again if you send it again. */
export type Message = Omit<Sent, "id"> & Partial<Pick<Sent, "id">>;
export type AddManyOptions = { context_used?: number | undefined };
export type AddOptions = Omit<Message, "role" | "content"> & AddManyOptions;
export type FlushOptions = Pick<FlushRequest, "reason" | "context_used" | "wait">;

/** The server answers a flush after 90 seconds at most. */
const FLUSH_MS = 90_000;

/** Made by `Keepsake.session`. */
export class Session {
  readonly id: string;
  readonly #server: Server;

  constructor(server: Server, externalId: string) {
    this.#server = server;
    this.id = externalId;
  }

  /** Hands over one message. With an `id` of your own it is kept once, however often you send it. */
  add(role: Message["role"], content: string | null, { context_used, ...more }: AddOptions = {}): Promise<SessionMessagesResponse> {
    return this.addMany([{ ...more, role, content }], { context_used });
  }

  /** Hands over messages in their order, 500 at most. The server keeps all of them or none. */
  addMany(messages: readonly Message[], { context_used }: AddManyOptions = {}): Promise<SessionMessagesResponse> {
    const sent = messages.map((message) => ({ ...message, id: message.id ?? crypto.randomUUID() }));
    return this.#send("messages", "accepted", { messages: sent, context_used });
  }

  /** Keeps what is new before the context is compacted. With `wait` the answer comes when that is done (90 s at most). */
  flush({ reason, context_used, wait }: FlushOptions = {}): Promise<FlushResponse> {
    const isWaiting = wait ?? true;
    return this.#send("flush", "state", { reason, context_used, wait: isWaiting }, isWaiting ? FLUSH_MS : 0);
  }

  /** Says that the conversation has ended. `summary` is what it was about, in your own words. */
  complete(summary?: string): Promise<SessionState> {
    return this.#send("complete", "state", { summary });
  }

  /** As `Keepsake.recall`. Nothing is told twice in this conversation. */
  recall(message: string | readonly string[], options: Omit<RecallOptions, "session"> = {}): Promise<MemoryRecallResponse> {
    return this.#server.send(recall(message, { ...options, session: this.id }));
  }

  #send<Answer>(what: string, field: string, body: object, wait = 0): Promise<Answer> {
    const path = `/api/v1/sessions/${encodeURIComponent(this.id)}/${what}`;
    return this.#server.send({ method: "POST", path, field, body, wait });
  }
}
