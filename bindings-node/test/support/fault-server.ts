/** The real fault server, one process for each test file, and its control port. */

import { execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { exactParse, exactText } from "./exact.js";

/** The root of this package, seen from `build/test/support`. */
export const packageRoot = join(__dirname, "..", "..", "..");

/** Something done to a server, as in `tests/src/control/scenario.rs`. */
export type Control = string | Record<string, unknown>;

export interface Ledger {
  arrivals: {
    http: string;
    rpc: string | null;
    name: string | null;
    session: string | null;
    key: string | null;
    traceparent: string | null;
    progress_token: boolean;
    params: Record<string, unknown>;
    meta: Record<string, unknown> | null;
  }[];
  executions: { name: string; key: string | null; asked: boolean }[];
  sessions: { id: string }[];
  connections: { opened: number; open: number };
}

/** Servers that were started together. */
export class Scenario {
  constructor(
    readonly hub: FaultServer,
    readonly id: string,
    readonly servers: Record<string, { url: string; port: number }>,
  ) {}

  get url(): string {
    return this.server("main").url;
  }

  server(name: string): { url: string; port: number } {
    const server = this.servers[name];
    if (server === undefined) {
      throw new Error(`there is no server ${name}`);
    }
    return server;
  }

  /** Does something to a server; returns when it is done. */
  async control(action: Control, on = "main"): Promise<void> {
    await this.hub.ask("POST", `/scenarios/${this.id}/control`, { on, do: action });
  }

  ledger(on = "main"): Promise<Ledger> {
    return this.hub.ask("GET", `/scenarios/${this.id}/ledger/${on}`);
  }

  /** The arrivals with this method: of JSON-RPC, or of HTTP if it has none. */
  async count(method: string): Promise<number> {
    const { arrivals } = await this.ledger();
    return arrivals.filter((arrival) => (arrival.rpc ?? arrival.http) === method).length;
  }

  async executions(tool: string): Promise<number> {
    return (await this.ledger()).executions.filter((execution) => execution.name === tool).length;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.hub.ask("DELETE", `/scenarios/${this.id}`);
  }
}

export class FaultServer {
  private constructor(
    readonly control: string,
    private readonly stop: () => void,
  ) {}

  static async start(): Promise<FaultServer> {
    const child = spawn(binary(), [], { stdio: ["pipe", "pipe", "inherit"] });
    const line = await new Promise<string>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", () => reject(new Error("the fault server ended")));
      createInterface({ input: child.stdout }).once("line", resolve);
    });
    // Tests end by themselves; the server must not hold them.
    child.unref();
    (child.stdin as unknown as { unref(): void }).unref();
    (child.stdout as unknown as { unref(): void }).unref();
    const { control } = JSON.parse(line) as { control: string };
    return new FaultServer(control, () => child.stdin.end());
  }

  /** Starts servers; without a script, one that is healthy. */
  async scenario(servers: Record<string, unknown> = { main: {} }): Promise<Scenario> {
    return this.#started({ servers });
  }

  /** Starts the servers of a vector. */
  async vector(vector: unknown): Promise<Scenario> {
    return this.#started({ vector });
  }

  async #started(body: unknown): Promise<Scenario> {
    const { id, servers } = await this.ask<{ id: string; servers: Scenario["servers"] }>("POST", "/scenarios", body);
    return new Scenario(this, id, servers);
  }

  async ask<T = void>(method: string, path: string, body?: unknown): Promise<T> {
    const init = body === undefined ? { method } : { method, body: exactText(body) };
    const response = await fetch(this.control + path, init);
    const answer = (await response.json()) as T & { error?: string };
    if (response.status !== 200) {
      throw new Error(`${method} ${path}: ${answer.error}`);
    }
    return answer;
  }

  close(): void {
    this.stop();
  }
}

/** The vectors that Node runs, expanded. */
export function vectors(): Vector[] {
  const text = execFileSync(binary(), ["--vectors", "node"], { encoding: "utf8", maxBuffer: 1 << 30 });
  return exactParse(text) as Vector[];
}

/** One case, as in `tests/src/vector/model.rs`; what the runner does not read is left out. */
export interface Vector {
  name: string;
  about: string;
  client: Record<string, unknown>;
  steps: Record<string, unknown>[];
}

let found: string | undefined;

/** The fault server: the one that is named, or else the one that cargo builds. */
export function binary(): string {
  found ??= process.env["ONCEWIRE_FAULT_SERVER"] ?? build();
  return found;
}

function build(): string {
  const messages = execFileSync(
    "cargo",
    ["build", "--quiet", "-p", "oncewire-tests", "--bin", "fault-server", "--message-format=json"],
    { cwd: packageRoot, encoding: "utf8", maxBuffer: 1 << 30 },
  );
  for (const line of messages.split("\n")) {
    const message = line === "" ? {} : (JSON.parse(line) as { executable?: string; target?: { name: string } });
    if (message.executable && message.target?.name === "fault-server") {
      return message.executable;
    }
  }
  throw new Error("cargo built no fault server");
}
