/** A client of Keepsake for your own programs. Claude's memory tool is in `keepsake-memory/memory-tool`. */
export { Keepsake, type RecallOptions, type RememberOptions, type SearchOptions } from "./client.js";
export { KeepsakeError, type KeepsakeErrorDetails } from "./errors.js";
export { Session, type AddManyOptions, type AddOptions, type FlushOptions, type Message } from "./session.js";
export type { KeepsakeOptions } from "./server.js";
export type * from "./schema.js";
