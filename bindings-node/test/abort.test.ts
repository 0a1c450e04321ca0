/** AbortSignal, before, during and after a call. */

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { after, before, describe, it } from "node:test";

import { connect, type Event, MayHaveExecutedError } from "oncewire";
import { FaultServer } from "./support/fault-server.js";
import { Inbox } from "./support/waiting.js";

let server: FaultServer;
before(async () => {
  server = await FaultServer.start();
});
after(() => server.close());

const holds = {
  main: { rules: [{ when: { name: "poke" }, do: [{ mark: "here" }, { execute_for: { until: "never" } }] }] },
};
const here = { await_gate: { gate: "here" } };

describe("AbortSignal", () => {
  it("that is aborted already: its own reason, and nothing is sent", async () => {
    await using scenario = await server.scenario();
    await using client = await connect(scenario.url);
    const sent = async () => (await scenario.ledger()).arrivals.filter(({ http }) => http === "POST").length;
    const before = await sent();
    const reason = { mine: true };
    await assert.rejects(
      client.callTool({ name: "poke" }, { signal: AbortSignal.abort(reason) }),
      (error) => error === reason,
    );
    await assert.rejects(connect(scenario.url, { signal: AbortSignal.abort(reason) }), (error) => error === reason);
    assert.equal(await sent(), before);
  });

  for (const [what, rpc, call] of [
    [
      "a tool",
      "tools/call",
      (client: Awaited<ReturnType<typeof connect>>, signal: AbortSignal) =>
        client.callTool({ name: "slow" }, { signal }),
    ],
    [
      "a resource",
      "resources/read",
      (client: Awaited<ReturnType<typeof connect>>, signal: AbortSignal) =>
        client.readResource({ uri: "mem://a" }, { signal }),
    ],
    [
      "a prompt",
      "prompts/get",
      (client: Awaited<ReturnType<typeof connect>>, signal: AbortSignal) =>
        client.getPrompt({ name: "hello" }, { signal }),
    ],
  ] as const) {
    it(`during ${what}: rejects at once with its own reason, the server is told once, nothing is repeated`, async () => {
      const rule = { when: { rpc }, do: [{ mark: "here" }, { execute_for: { until: "never" } }] };
      await using scenario = await server.scenario({ main: { rules: [rule] } });
      const events = new Inbox<Event>();
      await using client = await connect(scenario.url, { onEvent: events.put });
      const abort = new AbortController();
      const called = call(client, abort.signal);
      called.catch(() => {});
      await scenario.control(here);
      const since = performance.now();
      abort.abort();
      await assert.rejects(called, (error) => error === abort.signal.reason && (error as Error).name === "AbortError");
      assert.ok(performance.now() - since < 500);
      await scenario.control({ await: { count: "arrivals", where: { rpc: "notifications/cancelled" }, is: 1 } });
      assert.equal(await scenario.count(rpc), 1);
      await events.first("its end", ({ event, kind }) => event === "call_finished" && kind === "cancelled");
    });
  }

  it("after a call: nothing happens, and no listener is left", async () => {
    await using scenario = await server.scenario();
    await using client = await connect(scenario.url);
    const abort = new AbortController();
    await client.callTool({ name: "poke" }, { signal: abort.signal });
    await assert.rejects(client.callTool({ name: "no such tool" }, { signal: abort.signal }));
    assert.equal(getEventListeners(abort.signal, "abort").length, 0);
    abort.abort();
    await client.ping();
    assert.equal(await scenario.count("notifications/cancelled"), 0);
  });

  it("leaves the host's own onabort alone", async () => {
    await using scenario = await server.scenario(holds);
    await using client = await connect(scenario.url);
    const abort = new AbortController();
    let heard = 0;
    abort.signal.onabort = () => {
      heard += 1;
    };
    const called = client.callTool({ name: "poke" }, { signal: abort.signal });
    called.catch(() => {});
    await scenario.control(here);
    abort.abort("enough");
    await assert.rejects(called, (error) => error === "enough");
    assert.equal(heard, 1);
  });

  it("shared by many calls ends them all, without a warning of too many listeners", async () => {
    await using scenario = await server.scenario(holds);
    await using client = await connect(scenario.url);
    const warnings: string[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning.name);
    process.on("warning", onWarning);
    const abort = new AbortController();
    const calls = Array.from({ length: 32 }, () => client.callTool({ name: "poke" }, { signal: abort.signal }));
    const settled = Promise.allSettled(calls);
    await scenario.control({ await_gate: { gate: "here", times: 32 } });
    abort.abort();
    for (const one of await settled) {
      assert.equal((one as PromiseRejectedResult).reason, abort.signal.reason);
    }
    process.off("warning", onWarning);
    assert.deepEqual(warnings, []);
  });

  it("of AbortSignal.timeout: the call rejects with the TimeoutError of the signal", async () => {
    await using scenario = await server.scenario(holds);
    await using client = await connect(scenario.url);
    await assert.rejects(client.callTool({ name: "poke" }, { signal: AbortSignal.timeout(100) }), {
      name: "TimeoutError",
    });
  });

  it("during connect: the reason, no cancellation of initialize, and the half-made session is deleted", async () => {
    const rule = { when: { rpc: "initialize" }, do: [{ gate: "initialize" }] };
    await using scenario = await server.scenario({ main: { rules: [rule] } });
    const abort = new AbortController();
    const connecting = connect(scenario.url, { signal: abort.signal });
    connecting.catch(() => {});
    await scenario.control({ await_gate: { gate: "initialize" } });
    abort.abort();
    await assert.rejects(connecting, { name: "AbortError" });
    await scenario.control({ release: "initialize" });
    await scenario.control({ await: { value: "connections/open", is: 0 } });
    assert.equal(await scenario.count("notifications/cancelled"), 0);
  });

  it("is not a time-out: that one is an error with a verdict", async () => {
    await using scenario = await server.scenario(holds);
    await using client = await connect(scenario.url);
    await assert.rejects(client.callTool({ name: "poke" }, { timeout: 100 }), (error) => {
      assert.ok(error instanceof MayHaveExecutedError);
      assert.equal(error.kind, "timeout");
      return true;
    });
  });

  it("keeps async context: what comes after is in the caller's", async () => {
    await using scenario = await server.scenario();
    await using client = await connect(scenario.url);
    const { AsyncLocalStorage } = await import("node:async_hooks");
    const storage = new AsyncLocalStorage<string>();
    await storage.run("mine", async () => {
      const seen: (string | undefined)[] = [];
      const onprogress = () => void seen.push(storage.getStore());
      await client.callTool({ name: "slow", arguments: { ms: 900 } }, { onprogress });
      assert.equal(storage.getStore(), "mine");
      assert.ok(seen.length > 0 && seen.every((one) => one === "mine"), String(seen));
    });
  });
});
