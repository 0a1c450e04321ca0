/** The host process stays healthy (S25): it ends when it should, worker threads too, and nothing is rejected twice. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Worker } from "node:worker_threads";

import { connect } from "oncewire";
import { FaultServer, packageRoot } from "./support/fault-server.js";
import { Inbox } from "./support/waiting.js";

let server: FaultServer;
before(async () => {
  server = await FaultServer.start();
});
after(() => server.close());

const fixture = (name: string) => join(packageRoot, "test", "fixtures", `${name}.mjs`);

interface Ended {
  code: number | null;
  signal: string | null;
  out: string;
  err: string;
  ms: number;
}

/** Runs a script to its end, which it must come to by itself. */
function run(name: string, ...args: string[]): Promise<Ended> {
  const since = performance.now();
  const child = spawn(process.execPath, [fixture(name), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 20_000,
  });
  let [out, err] = ["", ""];
  child.stdout.on("data", (data) => {
    out += data;
  });
  child.stderr.on("data", (data) => {
    err += data;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, out, err, ms: performance.now() - since }));
  });
}

const well = ({ code, signal, err }: Ended) =>
  assert.deepEqual({ code, signal, err }, { code: 0, signal: null, err: "" });

describe("the process", () => {
  it("is not kept alive by an idle client that was never closed", async () => {
    await using scenario = await server.scenario();
    const ended = await run("idle", scenario.url);
    well(ended);
    assert.equal(ended.out, "idle\n");
    assert.ok(ended.ms < 3_000, `${ended.ms} ms`);
  });

  it("is kept alive by a call that waits", async () => {
    await using scenario = await server.scenario();
    const ended = await run("pending", scenario.url);
    well(ended);
    assert.equal(ended.out, "answered\n");
  });

  it("ends by itself within a second of close, also with the GET stream open", async () => {
    await using scenario = await server.scenario();
    const ended = await run("closed", scenario.url);
    well(ended);
    const [closed, exit] = [...ended.out.matchAll(/\d+/g)].map(Number);
    assert.ok((exit ?? 0) - (closed ?? 0) < 1_000, ended.out);
  });

  it("sees one rejection for each call and no unhandledRejection, whatever the side channels do", async () => {
    const resets = { when: { name: "poke" }, do: [{ progress: { count: 1 } }, "reset"] };
    await using scenario = await server.scenario({ main: { rules: [resets] } });
    const ended = await run("side-channels", scenario.url);
    assert.equal(ended.code, 0, ended.err);
    assert.deepEqual(JSON.parse(ended.out), { rejections: 80, unhandled: 0 });
  });

  for (const [how, code, signal] of [
    ["exit", 3, null],
    ["throw", 1, null],
    ["sigint", null, "SIGINT"],
    ["close", 0, null],
  ] as const) {
    it(`ends cleanly in the middle of 50 calls: ${how}`, { timeout: 60_000 }, async () => {
      await using scenario = await server.scenario();
      for (let times = 0; times < 8; times += 1) {
        const ended = await run("exit", scenario.url, how);
        assert.deepEqual([ended.code, ended.signal], [code, signal], ended.err);
      }
    });
  }
});

describe("worker threads", () => {
  const start = (url: string, how: string) => new Worker(fixture("worker"), { workerData: { url, how } });
  const exited = (worker: Worker) =>
    new Promise<number>((resolve, reject) => {
      worker.once("error", reject);
      worker.once("exit", resolve);
    });

  it("start, use and close, four at once, beside the main thread", async () => {
    await using scenario = await server.scenario();
    await using client = await connect(scenario.url);
    const messages: unknown[] = [];
    const workers = ["close", "close", "idle", "idle"].map((how) => start(scenario.url, how));
    for (const worker of workers) {
      worker.on("message", (message) => messages.push(message));
    }
    assert.deepEqual(await Promise.all(workers.map(exited)), [0, 0, 0, 0]);
    assert.deepEqual(messages, Array(4).fill({ text: "poke done", typed: true }));
    await client.callTool({ name: "poke" });
    assert.equal(await scenario.executions("poke"), 5);
    // Those that did not close end their sessions too, by the end of their threads.
    await scenario.control({ await: { count: "arrivals", where: { http: "DELETE" }, is: 4 } });
  });

  it("terminate with a call that waits, and the main thread works on", async () => {
    await using scenario = await server.scenario();
    await using client = await connect(scenario.url);
    for (let times = 0; times < 5; times += 1) {
      const worker = start(scenario.url, "pending");
      const messages = new Inbox<unknown>();
      worker.on("message", messages.put);
      await messages.first("a call that waits", (message) => message === "pending");
      await worker.terminate();
      await client.ping();
    }
    await scenario.control({ await: { count: "arrivals", where: { http: "DELETE" }, is: 5 } });
  });

  it("come and go where the main thread never loaded the package", async () => {
    await using scenario = await server.scenario();
    const ended = await run("workers-only", scenario.url, "10");
    well(ended);
    assert.equal(ended.out, "done\n");
  });
});
