/** Functions of the host: each may return a Promise, and a throw fails what it belongs to and nothing else. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";

import { connect, type Event, FailureError, NotExecutedError, type ServerNotification } from "oncewire";
import { FaultServer } from "./support/fault-server.js";
import { Inbox } from "./support/waiting.js";

let server: FaultServer;
before(async () => {
  server = await FaultServer.start();
});
after(() => server.close());

/** A server whose tool `poke` asks the client this and gives the reply back as its answer's event. */
const asks = (method: string, params?: object) => ({
  main: {
    rules: [
      { when: { name: "poke" }, times: 1, do: [{ request: { method, params, id: "q1" } }, { answer_event: {} }] },
    ],
  },
});

describe("token (S15)", () => {
  it("is asked once for eight calls that saw the 401, and never shown", async () => {
    await using scenario = await server.scenario({ main: { options: { tokens: ["token-one"] } } });
    const asked: (string | undefined)[] = [];
    const events: Event[] = [];
    await using client = await connect(scenario.url, {
      token: async (refused) => {
        asked.push(refused);
        await sleep(20);
        return asked.length === 1 ? "token-one" : "token-two";
      },
      onEvent: (event) => void events.push(event),
    });
    await scenario.control({ accept_tokens: ["token-two"] });
    await Promise.all(Array.from({ length: 8 }, () => client.callTool({ name: "poke" })));
    assert.deepEqual(asked, [undefined, "token-one"]);
    assert.equal(await scenario.executions("poke"), 8);
    assert.equal(await scenario.count("initialize"), 1);
    assert.equal(client.generation, 1);
    assert.doesNotMatch(inspect([events, client], { depth: 9 }), /token-(one|two)/);
  });

  it("that is refused twice: one auth error for each call, no third try, no initialize", async () => {
    await using scenario = await server.scenario({ main: { options: { tokens: ["good"] } } });
    await using client = await connect(scenario.url, { token: async () => "good" });
    await scenario.control({ accept_tokens: ["other"] });
    const settled = await Promise.allSettled(Array.from({ length: 4 }, () => client.callTool({ name: "poke" })));
    for (const one of settled) {
      const { reason } = one as PromiseRejectedResult;
      assert.ok(reason instanceof NotExecutedError);
      assert.equal(reason.kind, "auth");
      assert.equal(reason.proof, "unauthorized");
      assert.doesNotMatch(inspect(reason, { depth: 9 }), /good/);
    }
    assert.equal(await scenario.executions("poke"), 0);
    assert.equal(await scenario.count("initialize"), 1);
  });

  it("provider that throws fails its calls, and works again with the next", async () => {
    await using scenario = await server.scenario({ main: { options: { tokens: ["one"] } } });
    let broken = false;
    await using client = await connect(scenario.url, {
      token: () => {
        if (broken) {
          throw new Error("the vault is shut");
        }
        return scenario.id ? "one" : "";
      },
    });
    await scenario.control({ accept_tokens: ["two"] });
    broken = true;
    await assert.rejects(client.callTool({ name: "poke" }), (error) => {
      assert.ok(error instanceof NotExecutedError);
      assert.equal(error.kind, "auth");
      assert.match(inspect(error), /the vault is shut/);
      return true;
    });
    await scenario.control({ accept_tokens: ["one"] });
    broken = false;
    await client.callTool({ name: "poke" });
    assert.equal(await scenario.executions("poke"), 1);
  });
});

describe("headers", () => {
  it("are asked for each attempt, and may be a Promise", async () => {
    await using scenario = await server.scenario();
    let asked = 0;
    await using client = await connect(scenario.url, {
      listen: false,
      headers: async () => {
        asked += 1;
        await sleep(1);
        return { "X-Asked": String(asked) };
      },
    });
    const before = asked;
    await client.callTool({ name: "poke" });
    assert.equal(asked, before + 1);
    const { arrivals } = await scenario.ledger();
    const { headers } = arrivals.at(-1) as unknown as { headers: string[] };
    assert.ok(headers.includes("x-asked"), String(headers));
  });

  it("may be given as Headers or as pairs", async () => {
    await using scenario = await server.scenario();
    for (const headers of [
      new Headers({ "X-Mine": "1" }),
      [["X-Mine", "1"]] as const,
      () => new Map([["X-Mine", "1"]]),
    ]) {
      await using client = await connect(scenario.url, { headers });
      await client.ping();
      const { arrivals } = await scenario.ledger();
      const ping = arrivals.filter(({ rpc }) => rpc === "ping").at(-1) as unknown as { headers: string[] };
      assert.ok(ping.headers.includes("x-mine"));
    }
  });

  it("that throw fail their call only, before it is sent", async () => {
    await using scenario = await server.scenario();
    let broken = false;
    await using client = await connect(scenario.url, {
      listen: false,
      headers: async () => {
        if (broken) {
          throw new Error("no headers today");
        }
        return {};
      },
    });
    broken = true;
    await assert.rejects(client.callTool({ name: "poke" }), (error) => {
      assert.ok(error instanceof NotExecutedError);
      assert.match(inspect(error), /no headers today/);
      return true;
    });
    broken = false;
    await client.callTool({ name: "poke" });
    assert.equal(await scenario.executions("poke"), 1);
  });
});

describe("requests of the server", () => {
  const message = { role: "assistant", content: { type: "text", text: "hm" }, model: "scripted" } as const;

  it("are answered by async handlers: sampling, elicitation, roots", async () => {
    for (const [method, option, result] of [
      ["sampling/createMessage", "onSampling", message],
      ["elicitation/create", "onElicitation", { action: "decline" }],
      ["roots/list", "onRoots", { roots: [{ uri: "file:///a" }] }],
    ] as const) {
      await using scenario = await server.scenario(asks(method, { messages: [], maxTokens: 1, message: "?" }));
      let asked = 0;
      const handler = async () => {
        asked += 1;
        await sleep(10);
        return result;
      };
      await using client = await connect(scenario.url, { [option]: handler });
      await client.callTool({ name: "poke" });
      assert.equal(asked, 1, method);
      const { responses } = (await scenario.ledger()) as unknown as { responses: Record<string, unknown>[] };
      assert.deepEqual(responses[0]?.["result"], result);
    }
  });

  it("whose handler throws get an error, and the call goes on", async () => {
    await using scenario = await server.scenario(asks("sampling/createMessage", { messages: [], maxTokens: 1 }));
    await using client = await connect(scenario.url, {
      onSampling: async () => {
        throw new Error("no model here");
      },
    });
    await client.callTool({ name: "poke" });
    const { responses } = (await scenario.ledger()) as unknown as { responses: { error?: { message: string } }[] };
    assert.match(responses[0]?.error?.message ?? "", /no model here/);
  });

  it("that are withdrawn abort the signal of their handler", async () => {
    await using scenario = await server.scenario({
      main: {
        rules: [
          {
            when: { name: "poke" },
            do: [
              {
                request: {
                  method: "sampling/createMessage",
                  params: { messages: [], maxTokens: 1 },
                  id: "q1",
                  wait: false,
                },
              },
              { gate: "withdraw" },
              { notify: { method: "notifications/cancelled", params: { requestId: "q1" } } },
              { answer_event: {} },
            ],
          },
        ],
      },
    });
    const withdrawn = new Inbox<unknown>();
    await using client = await connect(scenario.url, {
      onSampling: async (_, { signal }) => {
        signal.addEventListener("abort", withdrawn.put);
        await scenario.control({ release: "withdraw" });
        await withdrawn.first("the withdrawal");
        return message;
      },
    });
    await client.callTool({ name: "poke" });
    await withdrawn.first("the withdrawal");
  });
});

describe("progress (S17)", () => {
  it("arrives in order, before the result", async () => {
    await using scenario = await server.scenario();
    await using client = await connect(scenario.url);
    const seen: number[] = [];
    await client.callTool(
      { name: "slow", arguments: { ms: 1_400 } },
      {
        onprogress: async ({ progress }) => {
          seen.push(progress);
          await sleep(1);
        },
      },
    );
    assert.ok(seen.length >= 2, String(seen));
    assert.deepEqual(
      seen,
      [...seen].sort((a, b) => a - b),
    );
  });

  for (const how of ["throws", "rejects"]) {
    it(`callback that ${how} fails its own call with what it threw, and no other`, async () => {
      await using scenario = await server.scenario();
      await using client = await connect(scenario.url);
      const mine = new Error("the progress bar broke");
      const slow = { name: "slow", arguments: { ms: 1_000 } };
      const onprogress =
        how === "throws"
          ? () => {
              throw mine;
            }
          : () => Promise.reject(mine);
      const [broken, well] = await Promise.allSettled([
        client.callTool(slow, { onprogress }),
        client.callTool(slow, { onprogress: () => {} }),
      ]);
      assert.equal((broken as PromiseRejectedResult).reason, mine);
      assert.equal(well.status, "fulfilled");
      await scenario.control({ await: { count: "arrivals", where: { rpc: "notifications/cancelled" }, is: 1 } });
    });
  }

  it("restarts the clock where that is asked for, up to the cap", async () => {
    await using scenario = await server.scenario({ main: { options: { progress_every_ms: 200 } } });
    await using client = await connect(scenario.url, {
      tools: { slow: { timeout: 600, resetTimeoutOnProgress: true } },
    });
    const slow = { name: "slow", arguments: { ms: 1_200 } };
    await client.callTool(slow);
    const late = async (options: object) => {
      await assert.rejects(
        client.callTool(slow, options),
        (error) => error instanceof FailureError && error.kind === "timeout",
      );
    };
    await Promise.all([late({ resetTimeoutOnProgress: false }), late({ maxTotalTimeout: 800 })]);
    await client.callTool(slow, { timeout: 5_000, resetTimeoutOnProgress: false });
  });
});

describe("callbacks without a call", () => {
  it("that throw are a warning: of events, of notifications", async () => {
    await using scenario = await server.scenario();
    const warnings = new Inbox<Error>();
    process.on("warning", warnings.put);
    const heard = new Inbox<ServerNotification>();
    await using client = await connect(scenario.url, {
      onEvent: async ({ event }) => {
        if (event === "ready") {
          throw new Error("event trouble");
        }
      },
      onNotification: (notification) => {
        heard.put(notification);
        throw new Error("notification trouble");
      },
    });
    await scenario.control({ await: { count: "arrivals", where: { http: "GET" }, at_least: 1 } });
    await scenario.control({ push: { method: "notifications/message", params: { level: "info", data: "hi" } } });
    const { method, params } = await heard.first("the notification");
    assert.equal(method, "notifications/message");
    assert.deepEqual(params, { level: "info", data: "hi" });
    const warns = (of: string, why: string) => (warning: Error) =>
      warning.name === "OncewireWarning" && warning.message.includes(of) && warning.message.includes(why);
    await warnings.first("the warning of onEvent", warns("onEvent failed", "event trouble"));
    await warnings.first("the warning of onNotification", warns("onNotification failed", "notification trouble"));
    process.off("warning", warnings.put);
    await client.ping();
  });
});
