/** Every method, its argument shapes, and what becomes of numbers and of what nobody knows. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { type CallOptions, type Client, connect, NotExecutedError, rawJson } from "oncewire";
import { FaultServer, type Ledger, type Scenario } from "./support/fault-server.js";

let server: FaultServer;
let scenario: Scenario;
let client: Client;
before(async () => {
  server = await FaultServer.start();
  scenario = await server.scenario();
  client = await connect(new URL(scenario.url));
});
after(async () => {
  await client.close();
  server.close();
});

/** The last request for this method, as the server got it. */
async function last(method: string): Promise<Ledger["arrivals"][number]> {
  const { arrivals } = await scenario.ledger();
  const arrival = arrivals.filter(({ rpc }) => rpc === method).at(-1);
  assert.ok(arrival !== undefined);
  return arrival;
}

describe("methods", () => {
  it("has the server's own words as properties", () => {
    assert.equal(client.serverInfo?.name, "fault-server");
    assert.equal(client.protocolVersion, "2025-11-25");
    assert.equal(client.era, "legacy");
    assert.equal(client.state, "ready");
    assert.equal(client.generation, 1);
    assert.ok(client.capabilities?.tools);
  });

  it("lists tools, resources, templates and prompts", async () => {
    const { tools, nextCursor } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name).filter((name) => name !== "echo" && name !== "slow"),
      ["poke", "peek", "nudge"],
    );
    assert.equal(nextCursor, undefined);
    assert.equal(tools[1]?.annotations?.readOnlyHint, true);
    assert.equal((await client.listResources()).resources[0]?.uri, "mem://a");
    assert.ok(Array.isArray((await client.listResourceTemplates()).resourceTemplates));
    assert.equal((await client.listPrompts()).prompts[0]?.name, "hello");
  });

  it("calls, reads, gets, completes, pings, subscribes, sets the level, and sends any request", async () => {
    assert.equal((await client.callTool({ name: "poke" })).isError, false);
    assert.equal((await client.readResource({ uri: "mem://a" })).contents[0]?.uri, "mem://a");
    assert.ok((await client.getPrompt({ name: "hello", arguments: { who: "Ada" } })).messages.length > 0);
    const ref = { type: "ref/prompt", name: "hello" } as const;
    const context = { arguments: { other: "x" } };
    const { completion } = await client.complete({ ref, argument: { name: "who", value: "A" }, context });
    assert.ok(Array.isArray(completion.values));
    assert.deepEqual((await last("completion/complete")).params["context"], context);
    assert.equal(await client.ping(), undefined);
    assert.equal(await client.subscribe({ uri: "mem://a" }), undefined);
    assert.equal(await client.unsubscribe({ uri: "mem://a" }), undefined);
    assert.equal(await client.setLogLevel("warning"), undefined);
    const custom = await client.request<object>({ method: "dev.oncewire.tests/custom", params: { a: 1 } });
    assert.equal(typeof custom, "object");
    await client.recover();
    assert.equal(client.generation, 2);
  });

  it("sends _meta and any other member of the params along", async () => {
    await client.callTool({ name: "poke", _meta: { traceparent: "00-1-2-03" }, ...{ task: { ttl: 5 } } });
    const { params, traceparent, key } = await last("tools/call");
    assert.equal(traceparent, "00-1-2-03");
    assert.match(key ?? "", /^[0-9a-f-]{36}$/);
    assert.deepEqual(params["task"], { ttl: 5 });
  });

  it("takes a page with a cursor and all pages without", async () => {
    await using paged = await server.scenario({ main: { options: { page_size: 2 } } });
    await using client = await connect(paged.url);
    assert.ok((await client.listTools()).tools.length > 2);
    const first = await client.request<{ nextCursor: string }>({ method: "tools/list" });
    assert.ok((await client.listTools({ cursor: first.nextCursor })).tools.length <= 2);
  });

  it("has a key of the caller, or none", async () => {
    await client.callTool({ name: "poke" }, { idempotencyKey: "use-1" });
    assert.equal((await last("tools/call")).key, "use-1");
    await client.callTool({ name: "poke" }, { idempotencyKey: false });
    assert.equal((await last("tools/call")).key, null);
  });
});

describe("numbers and unknown members", () => {
  it("keeps what nobody knows", async () => {
    await using odd = await server.scenario({
      main: {
        rules: [
          {
            when: { name: "poke" },
            do: [
              {
                respond: {
                  json: {
                    jsonrpc: "2.0",
                    id: "$id",
                    result: { content: [{ type: "hologram", n: 1 }], future: { x: 7 } },
                  },
                },
              },
            ],
          },
        ],
      },
    });
    await using client = await connect(odd.url);
    const result = await client.callTool({ name: "poke" });
    assert.deepEqual(result, { content: [{ type: "hologram", n: 1 }], future: { x: 7 } });
  });

  it("is exact with rawJson, and what JSON.parse gives without", async () => {
    const text = '{"n":9007199254740993,"m":-9007199254740995}';
    const exact = await client.callTool({ name: "echo", arguments: rawJson(text) }, { rawJson: true });
    assert.match(exact, /9007199254740993/);
    assert.match(exact, /-9007199254740995/);
    const rounded = await client.callTool({ name: "echo", arguments: rawJson(text) });
    assert.deepEqual(rounded.structuredContent, JSON.parse(text));
  });

  it("passes no text that is not JSON, and no part of arguments", async () => {
    assert.throws(() => rawJson('{"a":1},"b":2'), SyntaxError);
    await assert.rejects(client.callTool({ name: "echo", arguments: { n: rawJson("1") } }), TypeError);
  });

  it("carries every text unharmed", async () => {
    const text = '\u0000 \u2028 \ud83d\ude00 é " \\ ';
    const { structuredContent } = await client.callTool({ name: "echo", arguments: { text } });
    assert.deepEqual(structuredContent, { text });
  });
});

describe("what cannot be used", () => {
  const refused = async (call: () => Promise<unknown>, text: RegExp) => {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof NotExecutedError);
      assert.equal(error.kind, "config");
      assert.equal(error.proof, "never_sent");
      assert.match(error.message, text);
      return true;
    });
  };

  it("is named, and nothing is sent", async () => {
    // The GET stream opens whenever it does.
    const sent = async () => (await scenario.ledger()).arrivals.filter(({ http }) => http === "POST").length;
    const before = await sent();
    await refused(() => client.callTool({} as never), /name: it is missing/);
    await refused(
      () => client.callTool({ name: "poke", arguments: [] as never }),
      /arguments: it is not a JSON object/,
    );
    await refused(() => client.callTool({ name: "poke" }, { timeoutt: 5 } as CallOptions), /timeoutt/);
    await refused(() => client.callTool({ name: "poke" }, { timeout: -1 }), /timeout: -1 is no time/);
    await refused(() => client.callTool({ name: "poke" }, { resend: "maybe" as never }), /resend: /);
    await refused(() => connect(scenario.url, { cache: 1 as never }), /cache: /);
    await refused(() => connect(scenario.url, { backoff: { first: "soon" as never, max: 1 } }), /backoff\.first: /);
    await refused(() => client.callTool({ name: "poke" }, { timeout: 0 }), /timeout: it must be above zero/);
    await refused(() => client.callTool({ name: "poke" }, { resend: "often" as never }), /often/);
    await refused(() => client.complete({ ref: { type: "ref/prompt", name: "hello" } } as never), /argument/);
    await refused(() => connect("not a url"), /url/);
    await refused(() => connect(scenario.url, { maxPages: 0 }), /max_pages/);
    await refused(() => connect(scenario.url, { onSamplin: () => {} } as never), /onSamplin/);
    assert.equal(await sent(), before);
  });

  it("is a TypeError where JSON cannot say it", async () => {
    await assert.rejects(client.callTool({ name: "poke", arguments: { n: 1n } }), TypeError);
    await assert.rejects(client.callTool({ name: "poke" }, { timeout: Number.POSITIVE_INFINITY }), TypeError);
  });
});
