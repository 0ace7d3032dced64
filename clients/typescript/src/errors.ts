export interface KeepsakeErrorDetails {
  code: string;
  status?: number | undefined;
  field?: string | undefined;
  cause?: unknown;
}

/** A request that had no success. `message` is one sentence, the server's own where it gave one. */
export class KeepsakeError extends Error {
  override readonly name = "KeepsakeError";
  /** Stable: the server's, or `unreachable`, or `not_keepsake` where something else answers at the address. */
  readonly code: string;
  /** The HTTP status; undefined where the server does not answer. */
  readonly status: number | undefined;
  /** The input that the server does not accept, where it names one. */
  readonly field: string | undefined;

  constructor(sentence: string, { code, status, field, cause }: KeepsakeErrorDetails) {
    super(sentence, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.field = field;
  }
}
