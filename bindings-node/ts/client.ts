/** The client: one method for each method of MCP, with the argument shapes of the official client. */

import { type ErrorJson, errorOf } from "./errors.js";
import { EventStream } from "./events.js";
import type { Link, Outcome } from "./link.js";
import type { CallOptions, ToolCallOptions } from "./options.js";
import { optionsText, paramsText, type RawJson } from "./raw-json.js";
import type {
  CallToolResult,
  CompleteResult,
  GetPromptResult,
  Implementation,
  JsonObject,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ListToolsResult,
  LoggingLevel,
  ReadResourceResult,
  ServerCapabilities,
} from "./types.js";
import type { State } from "./words.js";

/** With this option a result is the JSON text that the server sent. */
export interface AsRawJson {
  rawJson: true;
}

/** `_meta` of a request. */
export interface WithMeta {
  _meta?: { [key: string]: unknown };
}

/** Params of a list: without a cursor all pages, with one that page. */
export interface ListParams extends WithMeta {
  cursor?: string;
}

/** Params of `tools/call`. */
export interface CallToolParams extends WithMeta {
  name: string;
  arguments?: JsonObject | RawJson;
}

/** Params of `prompts/get`. */
export interface GetPromptParams extends WithMeta {
  name: string;
  arguments?: { [name: string]: string } | RawJson;
}

/** Params of the methods that take a URI. */
export interface UriParams extends WithMeta {
  uri: string;
}

/** Params of `completion/complete`. */
export interface CompleteParams extends WithMeta {
  ref: { type: "ref/prompt"; name: string } | { type: "ref/resource"; uri: string };
  argument: { name: string; value: string };
  context?: { arguments?: { [name: string]: string } };
}

/** Any other request. */
export interface RawRequest {
  method: string;
  params?: JsonObject | RawJson;
}

interface Initialized {
  serverInfo?: Implementation;
  capabilities?: ServerCapabilities;
  protocolVersion?: string;
  instructions?: string;
}

/** A client of one MCP server; {@link connect} makes it. */
export class Client implements AsyncDisposable {
  readonly #link: Link;
  #closing: Promise<Outcome> | undefined;

  private constructor(link: Link) {
    this.#link = link;
  }

  /** @internal */
  static over(link: Link): Client {
    return new Client(link);
  }

  /** `tools/call`. A tool that failed says so in `isError` of the result. */
  callTool(params: CallToolParams, options: ToolCallOptions & AsRawJson): Promise<string>;
  callTool(params: CallToolParams, options?: ToolCallOptions): Promise<CallToolResult>;
  async callTool(params: CallToolParams, options?: ToolCallOptions): Promise<unknown> {
    const result = read(await this.#call("callTool", paramsText(params, "arguments"), options), options);
    return options?.rawJson ? result : typed(result as CallToolResult);
  }

  /** `tools/list`: all pages, unless a cursor is given. */
  listTools(params: ListParams | undefined, options: CallOptions & AsRawJson): Promise<string>;
  listTools(params?: ListParams, options?: CallOptions): Promise<ListToolsResult>;
  async listTools(params?: ListParams, options?: CallOptions): Promise<unknown> {
    return read(await this.#call("listTools", plain(params), options), options);
  }

  /** `resources/list`: all pages, unless a cursor is given. */
  listResources(params: ListParams | undefined, options: CallOptions & AsRawJson): Promise<string>;
  listResources(params?: ListParams, options?: CallOptions): Promise<ListResourcesResult>;
  async listResources(params?: ListParams, options?: CallOptions): Promise<unknown> {
    return read(await this.#call("listResources", plain(params), options), options);
  }

  /** `resources/templates/list`: all pages, unless a cursor is given. */
  listResourceTemplates(params: ListParams | undefined, options: CallOptions & AsRawJson): Promise<string>;
  listResourceTemplates(params?: ListParams, options?: CallOptions): Promise<ListResourceTemplatesResult>;
  async listResourceTemplates(params?: ListParams, options?: CallOptions): Promise<unknown> {
    return read(await this.#call("listResourceTemplates", plain(params), options), options);
  }

  /** `prompts/list`: all pages, unless a cursor is given. */
  listPrompts(params: ListParams | undefined, options: CallOptions & AsRawJson): Promise<string>;
  listPrompts(params?: ListParams, options?: CallOptions): Promise<ListPromptsResult>;
  async listPrompts(params?: ListParams, options?: CallOptions): Promise<unknown> {
    return read(await this.#call("listPrompts", plain(params), options), options);
  }

  /** `resources/read` */
  readResource(params: UriParams, options: CallOptions & AsRawJson): Promise<string>;
  readResource(params: UriParams, options?: CallOptions): Promise<ReadResourceResult>;
  async readResource(params: UriParams, options?: CallOptions): Promise<unknown> {
    return read(await this.#call("readResource", plain(params), options), options);
  }

  /** `prompts/get` */
  getPrompt(params: GetPromptParams, options: CallOptions & AsRawJson): Promise<string>;
  getPrompt(params: GetPromptParams, options?: CallOptions): Promise<GetPromptResult>;
  async getPrompt(params: GetPromptParams, options?: CallOptions): Promise<unknown> {
    return read(await this.#call("getPrompt", paramsText(params, "arguments"), options), options);
  }

  /** `completion/complete` */
  complete(params: CompleteParams, options: CallOptions & AsRawJson): Promise<string>;
  complete(params: CompleteParams, options?: CallOptions): Promise<CompleteResult>;
  async complete(params: CompleteParams, options?: CallOptions): Promise<unknown> {
    return read(await this.#call("complete", plain(params), options), options);
  }

  /** `ping` */
  async ping(options?: CallOptions): Promise<void> {
    check(await this.#call("ping", undefined, options));
  }

  /** `logging/setLevel`; the level is set again on each new session. */
  async setLogLevel(level: LoggingLevel, options?: CallOptions): Promise<void> {
    check(await this.#call("setLogLevel", JSON.stringify({ level }), options));
  }

  /** `resources/subscribe`; the subscription is made again on each new session. */
  async subscribe(params: UriParams, options?: CallOptions): Promise<void> {
    check(await this.#call("subscribe", plain(params), options));
  }

  /** `resources/unsubscribe` */
  async unsubscribe(params: UriParams, options?: CallOptions): Promise<void> {
    check(await this.#call("unsubscribe", plain(params), options));
  }

  /**
   * Any other request. Nothing is known of it, so it is never repeated after an ambiguous loss unless `resend` says so.
   */
  request(request: RawRequest, options: CallOptions & AsRawJson): Promise<string>;
  request<T = unknown>(request: RawRequest, options?: CallOptions): Promise<T>;
  async request(request: RawRequest, options?: CallOptions): Promise<unknown> {
    return read(await this.#call("request", paramsText(request, "params"), options), options);
  }

  /** Replaces the session by a new one, whatever its state. The old one ends with its last call. */
  async recover(options?: { signal?: AbortSignal }): Promise<void> {
    check(await this.#link.call((id) => this.#link.native.recover(id), options));
  }

  /** Makes sure that there is a login: the stored one, refreshed if it is over, or a new one, for which a person is asked. */
  async login(options?: { signal?: AbortSignal }): Promise<void> {
    check(await this.#link.call((id) => this.#link.native.login(id), options));
  }

  /** Ends the login: it is revoked, as far as the authorization server lets it, and forgotten in the store. */
  async logout(options?: { signal?: AbortSignal }): Promise<void> {
    check(await this.#link.call((id) => this.#link.native.logout(id), options));
  }

  /**
   * Ends everything within `closeTimeout`: new calls fail `closed` and were not executed; calls in flight are cancelled and judged by
   * what is known of them; the session gets its DELETE. Harmless when the client is closed already.
   */
  async close(): Promise<void> {
    this.#closing ??= this.#link.call((id) => this.#link.native.close(id));
    check(await this.#closing);
  }

  /** {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Events as they happen, from now on, for one reader. */
  events(): EventStream {
    return EventStream.of(this.#link, this.state === "closed");
  }

  /** Name, version, … of the server. */
  get serverInfo(): Implementation | undefined {
    return this.#initialized()?.serverInfo;
  }

  /** What the server offers. */
  get capabilities(): ServerCapabilities | undefined {
    return this.#initialized()?.capabilities;
  }

  /** The version that both sides speak. */
  get protocolVersion(): string | undefined {
    return this.#initialized()?.protocolVersion;
  }

  /** How the server wants to be used. */
  get instructions(): string | undefined {
    return this.#initialized()?.instructions;
  }

  /** The era that both sides speak; undefined before the first handshake. */
  get era(): "legacy" | "modern" | undefined {
    return (this.#link.native.era ?? undefined) as "legacy" | "modern" | undefined;
  }

  /** Where the client stands. */
  get state(): State {
    return this.#link.native.state as State;
  }

  /** The generation of the current session, or of the last one; 0 before the first. */
  get generation(): number {
    return this.#link.native.generation as number;
  }

  #initialized(): Initialized | undefined {
    const text = this.#link.native.initialized;
    return text ? (JSON.parse(text) as Initialized) : undefined;
  }

  #call(method: string, params: string | undefined, options?: ToolCallOptions): Promise<Outcome> {
    const { native } = this.#link;
    if (options === undefined) {
      return this.#link.call((id) => native.call(id, method, params, undefined, false));
    }
    const { signal, onprogress, rawJson: _, ...others } = options;
    const text = optionsText(others);
    const given = text === "{}" ? undefined : text;
    return this.#link.call((id) => native.call(id, method, params, given, onprogress !== undefined), {
      signal,
      onprogress,
    });
  }
}

function plain(params: object | undefined): string | undefined {
  return params === undefined ? undefined : JSON.stringify(params);
}

/** Throws what the addon reports, here, where the stack leads to the caller. @internal */
export function check(outcome: Outcome, below: (...args: never[]) => unknown = check): void {
  if (!outcome.ok) {
    const { error: json, causes } = JSON.parse(outcome.text) as { error: ErrorJson; causes: string[] };
    const error = errorOf(json, causes);
    Error.captureStackTrace(error, below);
    throw error;
  }
}

/** The result with what a host reads of it and a server may leave out, which is not enumerable: the data stays what the server sent. */
function typed(result: CallToolResult): CallToolResult {
  const read = (name: keyof CallToolResult, value: unknown) => {
    if ((result?.[name] ?? undefined) === undefined) {
      Object.defineProperty(result, name, { value, configurable: true, writable: true });
    }
  };
  if (typeof result === "object" && result !== null) {
    read("resultType", "complete");
    if (result.resultType === "task") {
      // The extension puts the members of the task beside the type, its forerunner into a member of their own.
      read("task", result);
    }
    if (result.task !== undefined) {
      read("content", []);
    }
  }
  return result;
}

function read(outcome: Outcome, options: CallOptions | undefined): unknown {
  check(outcome, read);
  return options?.rawJson ? outcome.text : JSON.parse(outcome.text);
}
