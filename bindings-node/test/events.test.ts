/** Events: the callback and the iterator. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { connect, type Event, NotExecutedError } from "oncewire";
import { FaultServer } from "./support/fault-server.js";
import { held } from "./support/waiting.js";

let server: FaultServer;
before(async () => {
  server = await FaultServer.start();
});
after(() => server.close());

describe("events", () => {
  it("come to the callback in order, those of a call before its result, closed at the end", async () => {
    await using scenario = await server.scenario();
    const events: Event[] = [];
    const client = await connect(scenario.url, { onEvent: (event) => void events.push(event) });
    assert.deepEqual(
      events.slice(0, 2).map(({ event }) => event),
      ["connecting", "ready"],
    );
    await scenario.control("forget_sessions");
    await client.callTool({ name: "poke" }, { idempotencyKey: "use-1" });
    const failed = events.find(({ event }) => event === "attempt_failed");
    assert.equal(failed?.kind, "session_lost");
    assert.equal(failed?.proof, "session_rejected");
    // Who saw the loss first recovers: this call, or the GET stream.
    assert.ok(["recover", "resend"].includes(failed?.decision ?? ""), failed?.decision);
    assert.equal(failed?.idempotencyKey, "use-1");
    assert.equal(typeof failed?.requestId, "number");
    const finished = events.find(({ event }) => event === "call_finished");
    assert.equal(finished?.execution, "answered");
    assert.equal(finished?.attempt, 2);
    await client.close();
    assert.equal(events.at(-1)?.event, "closed");
  });

  it("say which loss it was (S38)", async () => {
    await using scenario = await server.scenario({
      main: { rules: [{ when: { name: "poke" }, times: 1, do: ["execute", "close"] }] },
    });
    const words: string[] = [];
    await using client = await connect(scenario.url, {
      onEvent: ({ event, kind, proof }) => void (event === "attempt_failed" && words.push(proof ?? kind ?? "")),
    });
    await client.callTool({ name: "poke" }).catch(() => {});
    await scenario.control("forget_sessions");
    await client.callTool({ name: "poke" });
    assert.deepEqual(words, ["connection_closed", "session_rejected"]);
  });

  it("can be read by several readers, each from its own beginning, and end after closed", async () => {
    await using scenario = await server.scenario();
    const client = await connect(scenario.url);
    const first = client.events();
    await client.ping();
    const second = client.events();
    await client.callTool({ name: "poke" });
    const read = async (stream: AsyncIterable<Event>) => {
      const words: string[] = [];
      for await (const { event, method } of stream) {
        words.push(method ?? event);
      }
      return words.filter((word) => !word.startsWith("listener"));
    };
    const both = Promise.all([read(first), read(second)]);
    await client.close();
    assert.deepEqual(await held("the end of both", both), [
      ["ping", "tools/call", "closed"],
      ["tools/call", "closed"],
    ]);
    assert.deepEqual(await read(client.events()), [], "a closed client has no more events");
  });

  it("of a reader that stops are no longer kept", async () => {
    await using scenario = await server.scenario();
    await using client = await connect(scenario.url);
    const stream = client.events();
    await client.ping();
    const stopped = async () => {
      for await (const { event } of stream) {
        if (event === "call_finished") {
          break;
        }
      }
    };
    await held("the end of the call", stopped());
    await client.ping();
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
  });

  it("that a slow reader leaves are dropped from the front, and counted", async () => {
    await using scenario = await server.scenario();
    await using client = await connect(scenario.url, { listen: false });
    const stream = client.events();
    for (let calls = 0; calls < 1_100; calls += 50) {
      await Promise.all(Array.from({ length: 50 }, () => client.ping()));
    }
    assert.equal(stream.dropped, 1_100 - 1_024);
  });

  it("of a server that starts late come in order, and never say ready too early (S29)", async () => {
    await using scenario = await server.scenario({ main: { options: { start_down: true } } });
    const words: string[] = [];
    await using client = await connect(scenario.url, { lazy: true, onEvent: ({ event }) => void words.push(event) });
    assert.equal(client.state, "idle");
    assert.equal(client.serverInfo, undefined);
    assert.equal(client.era, undefined);
    const calls = Promise.all(Array.from({ length: 4 }, () => client.callTool({ name: "poke" }, { timeout: 5_000 })));
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.ok(!words.includes("ready"));
    await scenario.control("come_up");
    await calls;
    assert.equal(await scenario.executions("poke"), 4);
    assert.equal(await scenario.count("initialize"), 1);
    assert.equal(words[0], "connecting");
    assert.equal(client.state, "ready");
  });

  it("never say connection closed alone when the recovery fails too (S33)", async () => {
    await using scenario = await server.scenario();
    await using client = await connect(scenario.url, { connectPatience: 0 });
    const refuse = { when: { rpc: "initialize" }, do: [{ respond: { status: 500 } }] };
    await scenario.control({ add_rules: [refuse] });
    await scenario.control("forget_sessions");
    await assert.rejects(client.callTool({ name: "poke" }), (error) => {
      assert.ok(error instanceof NotExecutedError);
      assert.equal(error.kind, "recovery_failed");
      assert.equal(error.proof, "session_rejected");
      assert.match(error.message, /session was lost and reconnecting to http\S+ failed/);
      return true;
    });
  });
});
