/**
 * oncewire: an MCP client that never runs a tool twice without proof, never hangs on a dead stream, and recovers a lost session exactly
 * once. Everything that decides is in the core; this package carries calls to it, and what comes of them back.
 *
 * @packageDocumentation
 */

export type {
  AsRawJson,
  CallToolParams,
  CompleteParams,
  GetPromptParams,
  ListParams,
  RawRequest,
  UriParams,
  WithMeta,
} from "./client.js";
export { Client } from "./client.js";
export { connect, connectStdio } from "./connect.js";
export type { ErrorJson } from "./errors.js";
export { AnsweredError, FailureError, MayHaveExecutedError, NotExecutedError, OncewireError } from "./errors.js";
export type { Event, EventName } from "./events.js";
export { EventStream } from "./events.js";
export type { Enterprise, LoginStore, OAuth } from "./oauth.js";
export type {
  Callbacks,
  CallDefaults,
  CallOptions,
  ConnectOptions,
  HandlerExtra,
  Progress,
  RequestHeaders,
  Resend,
  ServerCommand,
  ToolCallOptions,
} from "./options.js";
export { RawJson, rawJson } from "./raw-json.js";
export type * from "./types.js";
export type { Attempt, Execution, Kind, Phase, Proof, ProofBasis, State } from "./words.js";
