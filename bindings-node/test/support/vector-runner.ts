/** Runs one scenario vector: steps in, report out. It knows no rule; the judge does. */

import { inspect } from "node:util";
import {
  AnsweredError,
  type Client,
  type ConnectOptions,
  connect,
  type Event,
  MayHaveExecutedError,
  NotExecutedError,
  OncewireError,
  rawJson,
} from "oncewire";
import { exactParse, exactText, holdsExact } from "./exact.js";
import type { Control, FaultServer, Scenario, Vector } from "./fault-server.js";

type Members = Record<string, unknown>;

interface Call {
  method: string;
  arguments?: Members;
  options?: Members;
  as?: string;
  times?: number;
}

interface Started {
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

/** Everything that is wrong with this vector; nothing if all is well. */
export async function run(server: FaultServer, vector: Vector): Promise<string[]> {
  await using scenario = await server.vector(vector);
  const run = new Run(scenario, vector);
  await run.steps(vector.steps);
  return (await server.ask<{ failures: string[] }>("POST", `/scenarios/${scenario.id}/judge`, await run.report()))
    .failures;
}

class Run {
  readonly #scenario: Scenario;
  readonly #options: Members;
  /** Results are wanted with every digit. */
  readonly #exact: boolean;
  readonly #calls: Members = {};
  readonly #events: Event[] = [];
  readonly #texts: string[] = [];
  readonly #started = new Map<string, Started>();
  #client: Client | undefined;
  #tokensAsked = 0;

  constructor(scenario: Scenario, vector: Vector) {
    this.#scenario = scenario;
    this.#options = vector.client;
    this.#exact = holdsExact(vector);
  }

  async steps(steps: Members[]): Promise<void> {
    for (const step of steps) {
      const [[kind, body] = []] = Object.entries(step);
      switch (kind) {
        case "call":
          for (const [name, call] of named(body as Call)) {
            await this.#call(name, call);
          }
          break;
        case "together":
          await Promise.all((body as Call[]).flatMap(named).map(([name, call]) => this.#call(name, call)));
          break;
        case "start":
          for (const [name, call] of named(body as Call)) {
            const abort = new AbortController();
            this.#started.set(name, { abort, done: this.#call(name, call, abort.signal) });
          }
          break;
        case "wait":
          for (const [name, started] of this.#family(body as string)) {
            await started.done;
            this.#started.delete(name);
          }
          break;
        case "cancel":
          for (const [, started] of this.#family(body as string)) {
            started.abort.abort();
          }
          break;
        case "control": {
          const { on, do: action } = body as { on?: string; do: Control };
          await this.#scenario.control(action, on).catch((error: Error) => {
            throw new Error(`${error.message}; so far ${JSON.stringify(this.#calls)}`);
          });
          break;
        }
        default:
          throw new Error(`there is no step ${kind}`);
      }
    }
    if (this.#started.size > 0) {
      throw new Error(`nobody waits for ${[...this.#started.keys()]}`);
    }
  }

  async report(): Promise<Members> {
    if (this.#client !== undefined) {
      await this.#client.close();
      this.#texts.push(inspect(this.#client, { depth: 5 }));
    }
    this.#texts.push(...this.#events.map((event) => inspect(event)));
    return {
      calls: this.#calls,
      events: this.#events.map(snakeCase),
      texts: this.#texts,
      tokens_asked: this.#tokensAsked,
    };
  }

  #family(of: string): [string, Started][] {
    const family = [...this.#started].filter(([name]) => name === of || name.startsWith(`${of}.`));
    if (family.length === 0) {
      throw new Error(`nothing was started as ${of}`);
    }
    return family;
  }

  async #call(name: string, call: Call, signal?: AbortSignal): Promise<void> {
    const since = performance.now();
    const progress: unknown[] = [];
    let outcome: Members;
    try {
      outcome = { ok: (await this.#perform(call, progress, signal)) ?? null };
    } catch (error) {
      this.#texts.push(String(error), inspect(error, { depth: 9 }));
      if (error instanceof OncewireError) {
        outcome = { error: { ...error.toJSON(), class: classOf(error), text: error.message } };
      } else if (signal?.aborted && error === signal.reason) {
        outcome = { cancelled: true };
      } else {
        throw error;
      }
    }
    this.#calls[name] = { ...outcome, elapsed_ms: Math.floor(performance.now() - since), progress };
  }

  async #perform(call: Call, progress: unknown[], signal: AbortSignal | undefined): Promise<unknown> {
    const aborted = signal === undefined ? {} : { signal };
    if (call.method === "connect") {
      this.#client = await connect(this.#scenario.url, { ...this.#connectOptions(), ...aborted });
      return null;
    }
    const client = this.#client;
    if (client === undefined) {
      throw new Error("a call without a client");
    }
    const { on_progress, meta, ...said } = call.options ?? {};
    const options: Members = { ...renamed(said), ...aborted };
    if (on_progress) {
      options["onprogress"] = (now: unknown) => void progress.push(now);
    }
    const { level, ...given } = call.arguments ?? {};
    if (meta != null && call.method === "request") {
      given["params"] = { ...(given["params"] as Members), _meta: meta };
    } else if (meta != null) {
      given["_meta"] = meta;
    }
    const others = exact(given, ["arguments", "params"]);
    switch (call.method) {
      case "close":
        return client.close();
      case "recover":
        return client.recover(aborted);
      case "ping":
        return client.ping(options);
      case "set_log_level":
        return client.setLogLevel(level as never, options);
      default: {
        const method = camelCase(call.method) as "callTool";
        if (this.#exact && !call.method.endsWith("subscribe")) {
          return exactParse(await client[method](others as never, { ...options, rawJson: true }));
        }
        return client[method](others as never, options);
      }
    }
  }

  #connectOptions(): ConnectOptions {
    const { tokens, handlers, tools, http2_only, ...plain } = this.#options;
    const options: Members = exact(renamed(plain), ["extensions"]);
    if (http2_only) {
      options["httpVersion"] = "http2";
    }
    if (tools) {
      options["tools"] = Object.fromEntries(
        Object.entries(tools as Record<string, Members>).map(([name, tool]) => [name, renamed(tool)]),
      );
    }
    if (tokens) {
      const list = tokens as string[];
      options["token"] = async () => list[Math.min(this.#tokensAsked++, list.length - 1)];
    }
    const { takes_ms, ...canned } = (handlers ?? {}) as Record<string, unknown>;
    for (const [name, result] of Object.entries(canned)) {
      if (result != null) {
        options[`on${name.charAt(0).toUpperCase()}${name.slice(1)}`] = async () => {
          await new Promise((resolve) => setTimeout(resolve, (takes_ms as number) ?? 0));
          const { $fails } = result as { $fails?: string };
          if ($fails !== undefined) {
            throw new Error($fails);
          }
          return result;
        };
      }
    }
    options["onEvent"] = (event: Event) => void this.#events.push(event);
    return options as ConnectOptions;
  }
}

/** The members, of which these become JSON text where an integer in them would be rounded otherwise. */
function exact(members: Members, names: string[]): Members {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [
      name,
      names.includes(name) && holdsExact(value) ? rawJson(exactText(value)) : value,
    ]),
  );
}

/** The outcomes of a call, by name. */
function named(call: Call): [string, Call][] {
  const base = call.as ?? call.method;
  if (call.times == null) {
    return [[base, call]];
  }
  return Array.from({ length: call.times }, (_, nth) => [`${base}.${nth}`, call]);
}

function classOf(error: OncewireError): string {
  if (error instanceof NotExecutedError) {
    return "not_executed";
  }
  if (error instanceof MayHaveExecutedError) {
    return "may_have_executed";
  }
  return error instanceof AnsweredError ? "answered" : "another";
}

/** Options of a vector under the names of this language; what is null was not given. */
function renamed(options: Members): Members {
  const names: Record<string, string> = { reset_on_progress: "resetTimeoutOnProgress" };
  return Object.fromEntries(
    Object.entries(options)
      .filter(([, value]) => value != null)
      .map(([name, value]) => [names[name] ?? camelCase(name), value]),
  );
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Events as the core writes them. */
function snakeCase(event: Event): Members {
  return Object.fromEntries(
    Object.entries(event).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
}
