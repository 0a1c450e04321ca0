/** Every option. Times are in milliseconds. What is left out has the default of the core, named with each. */

import type { Event } from "./events.js";
import { givenOAuth, type OAuth } from "./oauth.js";
import type { RawJson } from "./raw-json.js";
import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestParams,
  ElicitResult,
  JsonObject,
  ListRootsResult,
  ServerNotification,
} from "./types.js";

/** One progress notification. */
export interface Progress {
  /** How far it is. */
  progress: number;
  /** How far it will go, if known. */
  total?: number;
  /** In words. */
  message?: string;
}

/** The caller's word on sending a call again after an ambiguous loss: repeating is safe; method and hints decide; only with proof. */
export type Resend = "always" | "default" | "never";

/** Time-outs and leave to repeat, of one call, of one tool, or of a client. */
export interface CallDefaults {
  /** The whole call: queueing, recovery, refresh, all pages. Default: none; a tool may take its time. */
  timeout?: number;
  /** No byte of an answer for that long ends the attempt. Default: none. */
  idleTimeout?: number;
  /** Progress starts `timeout` anew. Default: false. */
  resetTimeoutOnProgress?: boolean;
  /** The cap that progress cannot move. Default: none. */
  maxTotalTimeout?: number;
  /** The caller's word on sending the call again after an ambiguous loss. Default: `default`. */
  resend?: Resend;
}

/** The command that starts a server on stdio. No shell reads it. */
export interface ServerCommand {
  /** The program: its path, or its name if it stands in a folder of `PATH`. */
  command: string;
  /** Its arguments. Every user of the machine can see them: keys belong into `env`. */
  args?: string[];
  /** Variables that are set for it. Their values are cut out of every text of the client's, but for those below eight bytes. */
  env?: Record<string, string>;
  /** The folder that it is started in. Default: that of this process. */
  folder?: string;
  /** Which variables of this process it gets: a short list, all, or these alone. Default: `listed`. */
  inherit?: "listed" | "all" | string[];
}

/** Options of one call. */
export interface CallOptions extends CallDefaults {
  /** Cancels the call: it rejects with the signal's own reason, and is never sent again. */
  signal?: AbortSignal;
  /** Called for each progress notification, in order and before the result. What it throws fails the call. */
  onprogress?: (progress: Progress) => void | Promise<void>;
  /** The result as the JSON text that the server sent, every digit of it. */
  rawJson?: boolean;
}

/** Options of one tool call. */
export interface ToolCallOptions extends CallOptions {
  /** The key under which the server sees all attempts, for example a tool-use id; false for none. Default: a new UUIDv7. */
  idempotencyKey?: string | false;
}

/** What a handler is told besides the params. */
export interface HandlerExtra {
  /** Aborted when the server no longer wants the answer, or the session is gone. */
  signal: AbortSignal;
}

/** Headers by name: an object, or pairs, as a `Headers` or a `Map` has them. */
export type RequestHeaders = Record<string, string> | Iterable<readonly [string, string]>;

/** Functions that a client calls. Each may return a Promise. */
export interface Callbacks {
  /**
   * The bearer token: a text that does not change, or a function that is asked the first time, and once more with the refused token
   * after a 401, however many calls saw it; 30 s at most.
   */
  token?: string | ((refused?: string) => string | Promise<string>);
  /** The client logs in by itself, and stays logged in (OAuth 2.1). In the place of `token`. Default: none. */
  oauth?: OAuth;
  /** Headers of every request: what does not change, or a function that is asked before each attempt. */
  headers?: RequestHeaders | (() => RequestHeaders | Promise<RequestHeaders>);
  /** Answers `sampling/createMessage`. Default: not advertised. */
  onSampling?: (
    params: CreateMessageRequestParams,
    extra: HandlerExtra,
  ) => CreateMessageResult | Promise<CreateMessageResult>;
  /** Answers `elicitation/create`; what an accepting answer leaves out gets the schema's defaults. Default: not advertised. */
  onElicitation?: (params: ElicitRequestParams, extra: HandlerExtra) => ElicitResult | Promise<ElicitResult>;
  /** Answers `roots/list`. Default: not advertised. */
  onRoots?: (extra: HandlerExtra) => ListRootsResult | Promise<ListRootsResult>;
  /** Called for each notification of the server but progress, in order. */
  onNotification?: (notification: ServerNotification) => void | Promise<void>;
  /** Called for each event, in order. */
  onEvent?: (event: Event) => void | Promise<void>;
}

/** Options of a client. */
export interface ConnectOptions extends CallDefaults, Callbacks {
  /** Cancels `connect`. It has no effect on the client that comes of it. */
  signal?: AbortSignal;
  /** Options of single tools, by name. */
  tools?: Record<string, CallDefaults>;
  /** Silence on a resumed stream, or on an attempt whose session the server declared gone. Default: 60,000. */
  orphanTimeout?: number;
  /** Making one connection, TLS included. Default: 10,000. */
  connectTimeout?: number;
  /**
   * How long attempts that were never sent are repeated when no deadline says, and handshakes that a gateway answered with
   * 502, 503, 504 or 429 because the server is not up; 0: not at all. Default: 10,000.
   */
  connectPatience?: number;
  /** One try of a handshake; there are two. Default: 30,000. */
  handshakeTimeout?: number;
  /** All of `close()`. Default: 5,000. */
  closeTimeout?: number;
  /** The longest `Retry-After` that is waited for. Default: 60,000. */
  retryAfterMax?: number;
  /** The bound of the first delay, doubling up to the largest. Default: 100 and 5,000. */
  backoff?: { first: number; max: number };
  /** Resends after ambiguous losses: a share of the calls, and so many a second. Default: 20 and 10. */
  retryBudget?: { percent: number; perSecond: number };
  /** The largest message, in bytes: all of a JSON body, envelope and escapes included. Default: 32 MiB. */
  maxMessage?: number;
  /** The largest single event of a stream, in bytes: all its lines, `data: ` included; at most `maxMessage`. Default: 32 MiB. */
  maxEvent?: number;
  /** The pages that one list may have. Default: 1,000. */
  maxPages?: number;
  /** How long an idle connection is kept. Default: 4,000. */
  poolIdleTimeout?: number;
  /** Never reuse a connection for a call that has no leave to be repeated. Default: false. */
  freshConnection?: boolean;
  /** The silence before a probe and between probes, and the probes that may go unanswered. Default: 15,000 and 3. */
  tcpKeepAlive?: { interval: number; retries: number };
  /** The silence before an HTTP/2 ping, and how long its answer may take. Default: 30,000 and 20,000. */
  http2Ping?: { interval: number; timeout: number };
  /** Which tool hints of the server are believed when a call was lost without proof. Default: `hinted`. */
  trustAnnotations?: "none" | "read_only" | "hinted";
  /** What to do about a lost session. Default: `auto`. */
  recovery?: "auto" | "surface" | "off";
  /** Which era to speak. Default: `auto`, which asks the server. */
  era?: "auto" | "legacy" | "modern";
  /** Extensions of the protocol that you speak, by id, each with its settings: they are declared to the server. Default: none. */
  extensions?: Record<string, JsonObject> | RawJson;
  /** Answer lists and reads from memory as long as the server allows it. Default: false. */
  cache?: boolean;
  /** Cookies that the server, or a balancer in front of it, sets go back to it, and nowhere else. Default: true. */
  cookies?: boolean;
  /** `connect` returns without a handshake; the first call makes it. Default: false. */
  lazy?: boolean;
  /** Keep the server's optional GET stream open, on which it may speak unasked. Default: true. */
  listen?: boolean;
  /** Every tool call carries an idempotency key in `_meta`. Default: true. */
  idempotencyKeys?: boolean;
  /** The name and version that the client gives of itself. Default: oncewire's. */
  clientInfo?: { name: string; version: string };
  /** More root certificates, PEM, besides those of the machine. */
  rootCertificates?: string;
  /** The certificate that the client shows, with its chain, and its key, both PEM. */
  clientCertificate?: { chain: string; key: string };
  /** The proxy, or false for none. Default: the one of the environment. */
  proxy?: string | false;
  /** Speak only this. Default: what TLS agrees on, HTTP/1.1 without TLS. */
  httpVersion?: "http1" | "http2";
}

/** The functions of the options. */
export interface Hooks {
  token?: (refused?: string) => unknown;
  oauth?: OAuth;
  headers?: () => unknown;
  onSampling?: (params: CreateMessageRequestParams, extra: HandlerExtra) => unknown;
  onElicitation?: (params: ElicitRequestParams, extra: HandlerExtra) => unknown;
  onRoots?: (extra: HandlerExtra) => unknown;
  onNotification?: (notification: ServerNotification) => unknown;
  onEvent?: (event: Event) => unknown;
}

/** The same headers as an object. */
export function plainHeaders(headers: unknown): unknown {
  const pairs = headers as Partial<Iterable<[string, string]>> | undefined;
  return typeof pairs?.[Symbol.iterator] === "function"
    ? Object.fromEntries(headers as Iterable<[string, string]>)
    : headers;
}

/** Options that the addon reads, and the functions apart from them. */
export function split(options: ConnectOptions): { hooks: Hooks; plain: Record<string, unknown> } {
  const hooks: Record<string, unknown> = {};
  const plain: Record<string, unknown> = {};
  const { signal: _, ...others } = options;
  for (const [name, value] of Object.entries(others)) {
    if (name === "oauth" && typeof value === "object" && value !== null) {
      hooks[name] = value;
      plain[name] = givenOAuth(value as OAuth);
    } else if (value !== undefined) {
      (typeof value === "function" ? hooks : plain)[name] = name === "headers" ? plainHeaders(value) : value;
    }
  }
  return { hooks: hooks as Hooks, plain };
}
