/** The modern era (2026-07-28): found out by itself, without a handshake, with questions in answers, tasks and a cache. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { type ConnectOptions, connect, type Event, MayHaveExecutedError, NotExecutedError } from "oncewire";
import { FaultServer } from "./support/fault-server.js";

let server: FaultServer;
before(async () => {
  server = await FaultServer.start();
});
after(() => server.close());

const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const tasks = { "io.modelcontextprotocol/tasks": {} };

/** A server with these options that speaks the modern era, unless they say another. */
const modern = (options: Record<string, unknown> = {}, rules: unknown[] = []) =>
  server.scenario({ main: { options: { era: "modern", ...options }, rules } });

/** A server whose tool `poke` is answered with a result of this text, every digit of it. */
const answering = (result: string) => {
  const text = `{"jsonrpc":"2.0","id":$id,"result":${result}}`;
  const respond = { headers: { "Content-Type": "application/json" }, text };
  return modern({}, [{ when: { name: "poke" }, do: ["execute", { respond }] }]);
};

describe("the era", () => {
  const rows = [
    { speaks: "modern", given: undefined, era: "modern", probes: 1, handshakes: 0 },
    { speaks: "dual", given: "auto", era: "modern", probes: 1, handshakes: 0 },
    { speaks: "legacy", given: "auto", era: "legacy", probes: 1, handshakes: 1 },
    { speaks: "dual", given: "legacy", era: "legacy", probes: 0, handshakes: 1 },
    { speaks: "modern", given: "modern", era: "modern", probes: 1, handshakes: 0 },
  ] as const;
  for (const { speaks, given, era, probes, handshakes } of rows) {
    it(`is ${era} of a server that speaks ${speaks} when ${given ?? "nothing"} is said`, async () => {
      await using scenario = await modern({ era: speaks });
      await using client = await connect(scenario.url, given === undefined ? {} : { era: given });
      assert.equal(client.era, era);
      assert.equal(client.protocolVersion, era === "modern" ? "2026-07-28" : "2025-11-25");
      assert.equal(client.serverInfo?.name, "fault-server");
      assert.ok(client.capabilities?.tools);
      assert.equal(client.generation, 1);
      await client.callTool({ name: "poke" });
      assert.equal(await scenario.count("server/discover"), probes);
      assert.equal(await scenario.count("initialize"), handshakes);
    });
  }

  it("that the server does not speak is an error", async () => {
    await using scenario = await modern({ era: "legacy" });
    await assert.rejects(connect(scenario.url, { era: "modern" }), (error) => {
      return error instanceof NotExecutedError && error.kind === "protocol";
    });
  });
});

describe("extensions", () => {
  const extensions = { "dev.example/one": { a: [1, { b: "c" }] }, ...tasks };

  it("are declared as they are, in both eras", async () => {
    for (const era of ["modern", "legacy"] as const) {
      await using scenario = await modern({ era });
      await using client = await connect(scenario.url, { extensions });
      await client.callTool({ name: "peek" });
      const { arrivals } = await scenario.ledger();
      const declared = arrivals
        .filter(({ rpc, name }) => (era === "modern" ? name === "peek" : rpc === "initialize"))
        .map(({ meta, params }) => (era === "modern" ? meta?.[CAPABILITIES] : params["capabilities"]));
      assert.equal(declared.length, 1);
      assert.deepEqual((declared[0] as { extensions: unknown }).extensions, extensions);
    }
  });

  it("that cannot be declared name themselves", async () => {
    for (const wrong of [3, { "dev.example/one": 1 }]) {
      const options = { extensions: wrong } as unknown as ConnectOptions;
      await assert.rejects(connect("http://127.0.0.1:1/mcp", options), (error) => {
        return error instanceof NotExecutedError && error.kind === "config";
      });
    }
  });
});

describe("cache", () => {
  for (const [given, requests] of [
    [{ cache: true }, 1],
    [{ cache: false }, 3],
    [{}, 3],
  ] as const) {
    it(`${JSON.stringify(given)}: three lists are ${requests} requests`, async () => {
      await using scenario = await modern({ keep: { "prompts/list": { ttl_ms: 60_000, scope: "public" } } });
      await using client = await connect(scenario.url, given);
      const lists = [await client.listPrompts(), await client.listPrompts(), await client.listPrompts()];
      assert.ok(lists[0]?.prompts.length);
      assert.deepEqual(lists[1], lists[0]);
      assert.deepEqual(lists[2], lists[0]);
      assert.equal(await scenario.count("prompts/list"), requests);
    });
  }
});

describe("a result", () => {
  it("that is a task says so, in both shapes, and stays what the server sent", async () => {
    const beside = '{"resultType":"task","taskId":"t1","status":"working","n":123456789012345678901234567890}';
    const within = '{"resultType":"dev.example/other","task":{"taskId":"t1"}}';
    for (const [text, type] of [
      [beside, "task"],
      [within, "dev.example/other"],
    ] as const) {
      await using scenario = await answering(text);
      await using client = await connect(scenario.url, { extensions: tasks });
      const result = await client.callTool({ name: "poke" });
      assert.equal(result.resultType, type);
      assert.equal(result.task?.["taskId"], "t1");
      assert.deepEqual(result.content, []);
      assert.equal(JSON.stringify(result), JSON.stringify(JSON.parse(text)));
      assert.equal(await client.callTool({ name: "poke" }, { rawJson: true }), text);
    }
  });

  it("of which the server does not say what it is, is complete", async () => {
    await using scenario = await modern({ era: "legacy" });
    await using client = await connect(scenario.url);
    const result = await client.callTool({ name: "poke" });
    assert.equal(result.resultType, "complete");
    assert.equal(result.task, undefined);
    assert.ok(!("resultType" in JSON.parse(JSON.stringify(result))));
  });
});

describe("what the server asks in its answer", () => {
  const form = { message: "who?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } };
  const who = { method: "elicitation/create", params: form };
  const think = { method: "sampling/createMessage", params: { messages: [], maxTokens: 5 } };
  const told = {
    who: { action: "accept", content: { name: "me" } },
    think: { role: "assistant", model: "m", content: { type: "text", text: "hi" } },
    where: { roots: [{ uri: "file:///home" }] },
  } as const;

  it("is put to the handlers of the host, and the call goes on with the answers", async () => {
    const requests = { who, think, where: { method: "roots/list" } };
    await using scenario = await modern({ asks: { poke: { rounds: [{ requests, state: "s" }] } } });
    const heard: unknown[] = [];
    await using client = await connect(scenario.url, {
      onElicitation: async (params) => {
        heard.push(params.message);
        return told.who;
      },
      onSampling: (params) => {
        heard.push(params.maxTokens);
        return told.think;
      },
      onRoots: () => ({ roots: [...told.where.roots] }),
    });
    const { content } = await client.callTool({ name: "poke" });
    assert.deepEqual(content, [{ type: "text", text: "poke done" }]);
    assert.deepEqual(new Set(heard), new Set(["who?", 5]));
    const { arrivals } = await scenario.ledger();
    const legs = arrivals.filter(({ name }) => name === "poke").map(({ params }) => params);
    assert.equal(legs.length, 2);
    assert.equal(legs[0]?.["inputResponses"], undefined);
    assert.deepEqual(legs[1]?.["inputResponses"], told);
    assert.equal(legs[1]?.["requestState"], "s");
  });

  it("fails the call when the handler throws", async () => {
    await using scenario = await modern({ asks: { poke: { rounds: [{ requests: { who } }] } } });
    await using client = await connect(scenario.url, {
      onElicitation: () => {
        throw new Error("the user went away");
      },
    });
    await assert.rejects(client.callTool({ name: "poke" }), MayHaveExecutedError);
    const { executions } = await scenario.ledger();
    assert.deepEqual(
      executions.filter(({ name, asked }) => name === "poke" && !asked),
      [],
    );
  });
});

describe("the other words of the era", () => {
  it("an abort closes the stream of the call and says nothing else", async () => {
    await using scenario = await modern();
    await using client = await connect(scenario.url);
    const abort = new AbortController();
    const called = client.callTool({ name: "slow" }, { signal: abort.signal });
    called.catch(() => {});
    await scenario.control({ await: { count: "executions", where: { name: "slow" }, is: 1 } });
    abort.abort();
    await assert.rejects(called, { name: "AbortError" });
    const gone = { name: "slow", client_gone_at_ms: { $not: null } };
    await scenario.control({ await: { count: "arrivals", where: gone, is: 1 } });
    await client.callTool({ name: "peek" });
    assert.equal(await scenario.count("notifications/cancelled"), 0);
  });

  it("a tool that cannot be called is left out of the list, with an event", async () => {
    const inputSchema = { properties: { a: { type: "string", "x-mcp-header": "not a name" } } };
    await using scenario = await modern({ tools: { bad: { inputSchema } } });
    const events: Event[] = [];
    const client = await connect(scenario.url, { onEvent: (event) => void events.push(event) });
    const names = (await client.listTools()).tools.map(({ name }) => name);
    await client.close();
    assert.ok(names.includes("poke") && !names.includes("bad"), String(names));
    const dropped = events.filter(({ event }) => event === "tool_dropped");
    assert.deepEqual(
      dropped.map(({ name }) => name),
      ["bad"],
    );
    assert.ok(dropped[0]?.reason);
  });
});
