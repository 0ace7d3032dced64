import type { MemoryRecallRequest } from "./schema.js";
import type { Request } from "./server.js";

export type RecallOptions = Pick<MemoryRecallRequest, "session" | "budget_tokens" | "min_relevance">;

export function recall(message: string | readonly string[], options: RecallOptions): Request {
  const asked = typeof message === "string" ? { message } : { messages: message };
  return { method: "POST", path: "/api/v1/recall", field: "section", body: { ...options, ...asked } };
}
