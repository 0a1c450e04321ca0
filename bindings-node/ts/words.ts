/** The words of the verdict, the same in all languages, in logs and in events. */

/** Whether the server carried a call out: proven not, perhaps, or it answered. */
export type Execution = "not_executed" | "may_have_executed" | "answered";

/** Why the call is known not to have run. */
export type Proof = "never_sent" | "session_rejected" | "unauthorized" | "refused_stream" | "rejected" | "rate_limited";

/**
 * What a proof rests on: it cannot be otherwise (`certain`); a harmless request of the same session and identity was refused in the same
 * words (`confirmed`); a challenge that only the client's own login can have caused (`protocol`).
 */
export type ProofBasis = "certain" | "confirmed" | "protocol";

/** What went wrong. */
export type Kind =
  | "connect"
  | "connection_closed"
  | "stream_ended"
  | "timeout"
  | "session_lost"
  | "recovery_failed"
  | "gateway"
  | "http_status"
  | "rate_limited"
  | "auth"
  | "redirect"
  | "protocol"
  | "too_large"
  | "cancelled"
  | "closed"
  | "config"
  | "rpc";

/** Where a call was when it failed. */
export type Phase = "queued" | "connecting" | "sending" | "awaiting_headers" | "streaming" | "resuming";

/** Where a client stands. */
export type State = "idle" | "connecting" | "ready" | "recovering" | "lost" | "login_needed" | "closed";

/** One HTTP request that tried to carry out a call, and what is known of it. */
export interface Attempt {
  /** The JSON-RPC id of this attempt; no two attempts of a client share one. */
  readonly id: number;
  /** The generation of the session that carried it; null where the server gave no session. */
  readonly generation: number | null;
  /** What went wrong; null for an attempt that was answered with a result. */
  readonly kind: Kind | null;
  /** The verdict on this attempt alone. */
  readonly execution: Execution;
  /** Why this attempt was not executed. */
  readonly proof: Proof | null;
  /** What that rests on; there exactly if `proof` is. */
  readonly proofBasis: ProofBasis | null;
  /** Where it failed. */
  readonly phase: Phase;
  /** The status of the answer, if its head arrived. */
  readonly httpStatus: number | null;
  /** When it started, in milliseconds since the Unix epoch. */
  readonly startedMs: number;
  /** How long it took, in milliseconds. */
  readonly elapsedMs: number;
  /** Evidence: the head of an answer had arrived. */
  readonly responseStarted: boolean;
  /** Evidence: progress of this attempt, or a request that it made of us, had arrived, so it was running. */
  readonly progressSeen: boolean;
}
