/**
 * The errors of a call, on two axes: the class says what to do next, `kind` says what happened.
 *
 * | class | meaning |
 * | --- | --- |
 * | {@link NotExecutedError} | proven: the server did not run it; calling again is safe |
 * | {@link MayHaveExecutedError} | no proof; verify before calling again |
 * | {@link AnsweredError} | the server answered with an error, which says nothing of effects |
 */

import { camelCase } from "./camel-case.js";
import type { Attempt, Execution, Kind, Phase, Proof, ProofBasis } from "./words.js";

/** An error as the core writes it, the same in all languages: names in snake_case. */
export interface ErrorJson {
  readonly kind: Kind;
  readonly execution: Execution;
  readonly method: string;
  readonly text: string;
  readonly [member: string]: unknown;
}

/** Why a call gave no result. Every error of this package is one, but for the reason of an `AbortSignal` and for wrong types. */
export class OncewireError extends Error {
  /** What went wrong. */
  readonly kind!: Kind;
  /** Whether the server ran the call. */
  readonly execution!: Execution;
  /** The method of the call, for example `tools/call`. */
  readonly method!: string;
  /** The tool, prompt or URI that was called. (The other languages say `name`; in JavaScript that is the name of the class.) */
  readonly target: string | undefined;
  /** Every attempt of the call, in order. */
  readonly attempts: readonly Attempt[];
  /** The status of the last answer, if its head arrived. */
  readonly httpStatus: number | undefined;
  /** The key under which the server saw all attempts of the call. */
  readonly idempotencyKey: string | undefined;
  readonly #json: ErrorJson;

  /** From what `toJSON()` gave; `causes` are the texts of what is underneath. */
  constructor(json: ErrorJson, causes: readonly string[] = []) {
    super(json.text, causes.length > 0 ? { cause: causeOf(causes) } : undefined);
    this.#json = json;
    this.kind = json.kind;
    this.execution = json.execution;
    this.method = json.method;
    const { name, http_status, idempotency_key, attempts } = json as Record<string, unknown>;
    this.target = name as string | undefined;
    this.httpStatus = http_status as number | undefined;
    this.idempotencyKey = idempotency_key as string | undefined;
    this.attempts = ((attempts ?? []) as object[]).map((attempt) => camelCase<Attempt>(attempt));
  }

  /** Everything that is known, as one JSON object, the same in all languages; it holds no secret. */
  toJSON(): ErrorJson {
    return this.#json;
  }

  /** The error that `toJSON()` was asked for, for example in another thread. */
  static fromJSON(json: ErrorJson): NotExecutedError | MayHaveExecutedError | AnsweredError {
    return errorOf(json);
  }
}

/** What the two errors of a call that was not answered have in common. */
export abstract class FailureError extends OncewireError {
  /** Where the call was when it failed. */
  readonly phase: Phase;
  /** How long the server asked to wait. */
  readonly retryAfterSeconds: number | undefined;
  /** The generation of the session that carried the last attempt. */
  readonly generation: number | undefined;
  /** What happened, in words, without the advice that `message` adds. */
  readonly reason: string;
  /** The beginning of an answer that was none, for example a gateway's HTML page. */
  readonly excerpt: string | undefined;

  /** From what `toJSON()` gave; `causes` are the texts of what is underneath. */
  constructor(json: ErrorJson, causes?: readonly string[]) {
    super(json, causes);
    const { phase, retry_after_seconds, generation, reason, excerpt } = json as Record<string, unknown>;
    this.phase = phase as Phase;
    this.retryAfterSeconds = retry_after_seconds as number | undefined;
    this.generation = generation as number | undefined;
    this.reason = reason as string;
    this.excerpt = excerpt as string | undefined;
  }
}

/** Proven: the server did not run the call. Calling again is safe. */
export class NotExecutedError extends FailureError {
  declare readonly execution: "not_executed";
  /** Why. */
  readonly proof: Proof;
  /** What that rests on. */
  readonly proofBasis: ProofBasis;

  /** From what `toJSON()` gave; `causes` are the texts of what is underneath. */
  constructor(json: ErrorJson, causes?: readonly string[]) {
    super(json, causes);
    this.proof = json["proof"] as Proof;
    this.proofBasis = json["proof_basis"] as ProofBasis;
  }
}

/** The call may have run. Verify before calling again. */
export class MayHaveExecutedError extends FailureError {
  declare readonly execution: "may_have_executed";
}

/**
 * The server answered with a JSON-RPC error, which may have been raised after an effect, or with a result that is none: a string, an
 * array, null, where the method gives an object.
 */
export class AnsweredError extends OncewireError {
  declare readonly execution: "answered";
  /** `protocol` for a result that is none. */
  declare readonly kind: "rpc" | "protocol";
  /** The code of the JSON-RPC error; 0 if there is none that can be read, and for a result that is none. */
  readonly code: number;
  /** Its message, as the server sent it, but that `[redacted]` takes the place of what the client had sent as secret. */
  readonly serverMessage: string;
  /** Its data, as the server sent it, but for the same; of a result that is none, the result. */
  readonly data: unknown;

  /** From what `toJSON()` gave; `causes` are the texts of what is underneath. */
  constructor(json: ErrorJson, causes?: readonly string[]) {
    super(json, causes);
    const { code, message, data } = json as Record<string, unknown>;
    this.code = code as number;
    this.serverMessage = message as string;
    this.data = data;
  }
}

// On the prototypes, as with the errors of the language: they are no fields of their own.
for (const error of [OncewireError, NotExecutedError, MayHaveExecutedError, AnsweredError]) {
  Object.defineProperty(error.prototype, "name", { value: error.name, configurable: true, writable: true });
}

/** The class that the execution names. @internal */
export function errorOf(
  json: ErrorJson,
  causes?: readonly string[],
): NotExecutedError | MayHaveExecutedError | AnsweredError {
  switch (json.execution) {
    case "not_executed":
      return new NotExecutedError(json, causes);
    case "may_have_executed":
      return new MayHaveExecutedError(json, causes);
    case "answered":
      return new AnsweredError(json, causes);
  }
}

/** What is underneath: texts only, since it happened in native code and has no stack here. */
function causeOf(texts: readonly string[]): Error | undefined {
  let cause: Error | undefined;
  for (const text of [...texts].reverse()) {
    cause = cause === undefined ? new Error(text) : new Error(text, { cause });
    Object.defineProperty(cause, "stack", { value: `Error: ${text}`, configurable: true, writable: true });
  }
  return cause;
}
