/** What is left after close (S13): nothing. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { connect, NotExecutedError } from "oncewire";
import { FaultServer } from "./support/fault-server.js";
import { held } from "./support/waiting.js";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as () => void;

let server: FaultServer;
before(async () => {
  server = await FaultServer.start();
});
after(() => server.close());

const linux = process.platform === "linux";
/** Open files and threads of this process. */
const files = () => readdirSync("/proc/self/fd").length;
const threads = () => readdirSync("/proc/self/task").length;
const residentMb = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) / 1_024;

async function collected(): Promise<void> {
  for (let times = 0; times < 3; times += 1) {
    gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("close", () => {
  for (const status of [200, 204, 404, 405]) {
    it(`sends one DELETE for each of 25 sessions, answered ${status}, and leaves nothing`, {
      skip: !linux,
    }, async () => {
      await using scenario = await server.scenario({ main: { options: { delete_status: status } } });
      const round = async () => {
        const client = await connect(scenario.url);
        await client.callTool({ name: "poke" });
        await client.close();
        await client.close();
      };
      // The first of all makes the runtime and its threads.
      for (let times = 0; times < 5; times += 1) {
        await round();
      }
      await collected();
      const before = [files(), threads()] as const;
      for (let times = 0; times < 25; times += 1) {
        await round();
      }
      await collected();
      await scenario.control({ await: { value: "connections/open", is: 0 } });
      assert.ok(Math.abs(files() - before[0]) <= 2, `${files()} files, ${before[0]} before`);
      assert.ok(Math.abs(threads() - before[1]) <= 2, `${threads()} threads, ${before[1]} before`);
      assert.equal(await scenario.count("DELETE"), 30);
      const { arrivals } = await scenario.ledger();
      const deleted = arrivals.filter(({ http }) => http === "DELETE").map(({ session }) => session);
      assert.equal(new Set(deleted).size, 30);
    });
  }

  it("is bounded by closeTimeout when nobody answers the DELETE", async () => {
    const silent = { when: { http: "DELETE" }, do: ["hold"] };
    await using scenario = await server.scenario({ main: { rules: [silent] } });
    const client = await connect(scenario.url, { closeTimeout: 300 });
    const since = performance.now();
    await client.close();
    assert.ok(performance.now() - since < 1_500);
  });

  it("leaves nothing of 100 connects that failed", { skip: !linux }, async () => {
    await using scenario = await server.scenario({ main: { options: { start_down: true } } });
    const before = [files(), threads()] as const;
    for (let times = 0; times < 100; times += 1) {
      await assert.rejects(connect(scenario.url, { connectPatience: 0 }), NotExecutedError);
    }
    await collected();
    assert.ok(Math.abs(files() - before[0]) <= 2);
    assert.ok(Math.abs(threads() - before[1]) <= 2);
  });

  it("keeps memory flat over 300 clients", { skip: !linux }, async () => {
    await using scenario = await server.scenario();
    const rounds = async (times: number) => {
      for (let round = 0; round < times; round += 1) {
        await using client = await connect(scenario.url);
        await client.callTool({ name: "poke" });
      }
      await collected();
    };
    await rounds(150);
    const before = residentMb();
    await rounds(150);
    assert.ok(residentMb() - before < 15, `${residentMb() - before} MB more`);
  });

  it("keeps memory flat over 12,000 calls", { skip: !linux }, async () => {
    await using scenario = await server.scenario();
    await using client = await connect(scenario.url);
    const calls = async (rounds: number) => {
      for (let round = 0; round < rounds; round += 1) {
        await Promise.all(Array.from({ length: 16 }, () => client.ping()));
      }
      await collected();
    };
    await calls(375);
    const before = residentMb();
    await calls(375);
    assert.ok(residentMb() - before < 10, `${residentMb() - before} MB more`);
  });

  it("settles calls in flight with a verdict", async () => {
    const holds = { when: { name: "poke" }, do: [{ mark: "here" }, { execute_for: { until: "never" } }] };
    await using scenario = await server.scenario({ main: { rules: [holds] } });
    const client = await connect(scenario.url);
    const called = client.callTool({ name: "poke" });
    called.catch(() => {});
    await scenario.control({ await_gate: { gate: "here" } });
    await client.close();
    await assert.rejects(called, { kind: "closed", execution: "may_have_executed" });
  });

  it("comes with collection: a client that nobody holds ends its session", async () => {
    await using scenario = await server.scenario();
    const useAndLose = async () => {
      const client = await connect(scenario.url);
      await client.callTool({ name: "poke" });
    };
    await useAndLose();
    await collected();
    await scenario.control({ await: { count: "arrivals", where: { http: "DELETE" }, is: 1 } });
  });

  it("does not come while a reader of events waits, though nobody holds the client", async () => {
    await using scenario = await server.scenario();
    const read = (async () => {
      const words: string[] = [];
      for await (const { event } of (await connect(scenario.url)).events()) {
        words.push(event);
        if (event === "session_suspect") {
          return words;
        }
      }
      return words;
    })();
    await scenario.control({ await: { count: "arrivals", where: { http: "GET" }, is: 1 } });
    await collected();
    await collected();
    assert.equal(await scenario.count("DELETE"), 0);
    await scenario.control("go_down");
    assert.ok((await held("the loss", read)).includes("session_suspect"));
  });

  it("does not come while a call waits, though nobody holds the client", async () => {
    await using scenario = await server.scenario();
    const called = (await connect(scenario.url)).callTool({ name: "slow", arguments: { ms: 700 } });
    await collected();
    assert.equal((await called).isError, false);
  });
});
