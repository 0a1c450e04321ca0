/**
 * A `Transport` for hosts that hold the official client (`@modelcontextprotocol/client` 2.x, `@modelcontextprotocol/sdk` 1.x): their
 * client, this package's recovery.
 *
 * ```ts
 * const client = new Client({ name: "host", version: "1.0.0" });
 * await client.connect(new OncewireTransport("http://127.0.0.1:8000/mcp"));
 * ```
 *
 * What is lost against the native API: `docs/transport.md`.
 *
 * @packageDocumentation
 */

import type { Client } from "../client.js";
import { connect } from "../connect.js";
import { AnsweredError } from "../errors.js";
import type { CallOptions, ConnectOptions, HandlerExtra } from "../options.js";
import type { JsonObject, ServerNotification } from "../types.js";
import { dispatch } from "./dispatch.js";
import type {
  JsonRpcError,
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResult,
  RequestId,
} from "./messages.js";

export type * from "./messages.js";

/** Options of the client underneath; what the official client says of itself in its `initialize` is taken from there. */
export type TransportOptions = Omit<
  ConnectOptions,
  "clientInfo" | "extensions" | "lazy" | "onElicitation" | "onNotification" | "onRoots" | "onSampling" | "signal"
> & {
  /** Extensions that are declared besides those of the official client, by id, each with its settings. */
  extensions?: Record<string, JsonObject>;
};

/** JSON-RPC 2.0, section 5.1: the method does not exist. */
const METHOD_NOT_FOUND = -32_601;

interface Question {
  resolve(result: never): void;
  reject(error: Error): void;
}

/** The interface of both official packages, over a client of this one. */
export class OncewireTransport {
  /** Set by the official client. */
  onclose?: (() => void) | undefined;
  /** Set by the official client. */
  onerror?: ((error: Error) => void) | undefined;
  /** Set by the official client. */
  // biome-ignore lint/suspicious/noExplicitAny: both packages have a type of their own for the same messages
  onmessage?: ((message: any, extra?: any) => void) | undefined;
  /**
   * Never set: the core keeps the session id, since it changes with each recovery, and an official client that finds one here would
   * leave out its handshake.
   */
  readonly sessionId: undefined;

  readonly #url: string | URL;
  readonly #options: TransportOptions;
  readonly #calls = new Map<RequestId, AbortController>();
  readonly #questions = new Map<RequestId, Question>();
  #client: Client | undefined;
  #closed = false;
  #asked = 0;

  constructor(url: string | URL, options: TransportOptions = {}) {
    this.#url = url;
    this.#options = options;
  }

  /** The client underneath, once the official one is connected: for its events and its state. */
  get client(): Client | undefined {
    return this.#client;
  }

  /** Nothing is done before the official client sends its `initialize`, which says what it can do. */
  async start(): Promise<void> {}

  /** The core negotiates the version by itself. */
  setProtocolVersion(_version: string): void {}

  /**
   * Takes a message of the official client. The Promise of a request settles with the request: if it was not answered, with one of our
   * errors, which the official client passes on to its caller as it is.
   */
  async send(message: JsonRpcMessage, _options?: unknown): Promise<void> {
    if (!("method" in message)) {
      this.#answered(message);
    } else if ("id" in message) {
      await this.#request(message);
    } else {
      this.#notified(message);
    }
  }

  /** Closes the client underneath. */
  async close(): Promise<void> {
    if (this.#closed) {
      return;
    }
    this.#closed = true;
    // Calls in flight are judged by the core, and their errors go out before the official client makes up its own.
    await this.#client?.close();
    for (const { reject } of this.#questions.values()) {
      reject(new Error("the transport was closed"));
    }
    this.#questions.clear();
    this.onclose?.();
  }

  async #request(request: JsonRpcRequest): Promise<void> {
    const { id, method, params } = request;
    const client = this.#client;
    if (client === undefined && method !== "initialize") {
      // A probe before the handshake (`server/discover`). The answer sends the official client on to `initialize`.
      const error = { code: METHOD_NOT_FOUND, message: `${method} before initialize` };
      this.#deliver({ jsonrpc: "2.0", id, error });
      return;
    }
    const abort = new AbortController();
    this.#calls.set(id, abort);
    try {
      const token = params?._meta?.progressToken;
      const options: CallOptions = { signal: abort.signal };
      if (token !== undefined) {
        options.onprogress = (progress) => {
          const given = { progressToken: token, ...progress };
          this.#deliver({ jsonrpc: "2.0", method: "notifications/progress", params: given });
        };
      }
      const result = client === undefined ? await this.#initialize(request) : await dispatch(client, request, options);
      this.#deliver({ jsonrpc: "2.0", id, result: result as JsonRpcResult["result"] });
    } catch (error) {
      if (abort.signal.aborted) {
        return;
      }
      if (!(error instanceof AnsweredError)) {
        throw error;
      }
      const { code, serverMessage, data } = error;
      const answer: JsonRpcError["error"] = { code, message: serverMessage };
      if (data !== undefined) {
        answer.data = data;
      }
      this.#deliver({ jsonrpc: "2.0", id, error: answer });
    } finally {
      this.#calls.delete(id);
    }
  }

  /** The handshake of the core takes the place of the official client's. */
  async #initialize(request: JsonRpcRequest): Promise<object> {
    const params = request.params as {
      protocolVersion: string;
      capabilities: Record<string, unknown>;
      clientInfo: { name: string; version: string };
    };
    const { capabilities, clientInfo } = params;
    const options: ConnectOptions = {
      ...this.#options,
      clientInfo: { name: clientInfo.name, version: clientInfo.version },
      onNotification: ({ method, params }: ServerNotification) => {
        const given = params as { [member: string]: unknown } | null;
        this.#deliver(given === null ? { jsonrpc: "2.0", method } : { jsonrpc: "2.0", method, params: given });
      },
    };
    if (capabilities["extensions"] !== undefined) {
      const theirs = capabilities["extensions"] as Record<string, JsonObject>;
      options.extensions = { ...theirs, ...this.#options.extensions };
    }
    if (capabilities["sampling"] !== undefined) {
      options.onSampling = (params, extra) => this.#ask("sampling/createMessage", params, extra);
    }
    if (capabilities["elicitation"] !== undefined) {
      options.onElicitation = (params, extra) => this.#ask("elicitation/create", params, extra);
    }
    if (capabilities["roots"] !== undefined) {
      options.onRoots = (extra) => this.#ask("roots/list", undefined, extra);
    }
    const client = await connect(this.#url, options);
    if (this.#closed) {
      await client.close();
      throw new Error("the transport was closed");
    }
    this.#client = client;
    const { serverInfo, instructions } = client;
    // A server of the modern era knows no handshake: the official client is told the version that it asks for, and ours speaks the server's.
    const protocolVersion = client.era === "modern" ? params.protocolVersion : client.protocolVersion;
    const result = { protocolVersion, capabilities: client.capabilities ?? {}, serverInfo };
    return instructions === undefined ? result : { ...result, instructions };
  }

  /** A request of the server, put to the official client. */
  #ask<T>(method: string, params: object | undefined, { signal }: HandlerExtra): Promise<T> {
    this.#asked += 1;
    const id = `oncewire-${this.#asked}`;
    return new Promise<T>((resolve, reject) => {
      this.#questions.set(id, { resolve, reject });
      signal.addEventListener("abort", () => {
        this.#questions.delete(id);
        reject(new Error("the server no longer wants it"));
        this.#deliver({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
      });
      const asked = { jsonrpc: "2.0", id, method } as const;
      this.#deliver(params === undefined ? asked : { ...asked, params: params as { [member: string]: unknown } });
    });
  }

  #answered(message: JsonRpcResult | JsonRpcError): void {
    const question = message.id === undefined ? undefined : this.#questions.get(message.id);
    if (question === undefined || message.id === undefined) {
      return;
    }
    this.#questions.delete(message.id);
    if ("error" in message) {
      question.reject(new Error(message.error.message));
    } else {
      question.resolve(message.result as never);
    }
  }

  #notified({ method, params }: JsonRpcNotification): void {
    if (method === "notifications/cancelled") {
      this.#calls.get(params?.["requestId"] as RequestId)?.abort();
    }
    // Of the others, `notifications/initialized` was sent by the core, and the core sends none for the host.
  }

  #deliver(message: JsonRpcMessage): void {
    this.onmessage?.(message);
  }
}
