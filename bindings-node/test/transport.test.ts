/** The official clients over our transport. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { Client as Client2 } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport as Transport1 } from "@modelcontextprotocol/sdk/shared/transport.js";
import { CreateMessageRequestSchema, LoggingMessageNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { MayHaveExecutedError, NotExecutedError } from "oncewire";
import { OncewireTransport } from "oncewire/transport";
import { FaultServer } from "./support/fault-server.js";
import { Inbox } from "./support/waiting.js";

let server: FaultServer;
before(async () => {
  server = await FaultServer.start();
});
after(() => server.close());

const info = { name: "host", version: "1.2.3" };
const answer = { role: "assistant", content: { type: "text", text: "hm" }, model: "scripted" } as const;

/** What the two official clients have in common, as far as the tests need it. */
interface Host {
  connect(transport: OncewireTransport): Promise<void>;
  call(name: string, args?: object, options?: object): Promise<{ content: { text?: string }[] }>;
  listTools(): Promise<{ tools: { name: string }[] }>;
  readResource(uri: string): Promise<object>;
  ping(): Promise<unknown>;
  setLevel(): Promise<unknown>;
  close(): Promise<void>;
  serverName(): string | undefined;
  onLog(heard: (data: unknown) => void): void;
}

const hosts: Record<string, () => Host> = {
  "@modelcontextprotocol/client 2": () => {
    const client = new Client2(info, { capabilities: { sampling: {} } });
    client.setRequestHandler("sampling/createMessage", async () => answer);
    return {
      connect: (transport) => client.connect(transport),
      call: (name, args, options) =>
        client.callTool({ name, ...(args ? { arguments: args as never } : {}) }, options) as never,
      listTools: () => client.listTools(),
      readResource: (uri) => client.readResource({ uri }),
      ping: () => client.ping(),
      setLevel: () => client.setLoggingLevel("info"),
      close: () => client.close(),
      serverName: () => client.getServerVersion()?.name,
      onLog: (heard) => client.setNotificationHandler("notifications/message", ({ params }) => heard(params.data)),
    };
  },
  "@modelcontextprotocol/sdk 1": () => {
    const client = new Client1(info, { capabilities: { sampling: {} } });
    client.setRequestHandler(CreateMessageRequestSchema, async () => answer);
    return {
      connect: (transport) => client.connect(transport as Transport1),
      call: (name, args, options) =>
        client.callTool({ name, ...(args ? { arguments: args as never } : {}) }, undefined, options) as never,
      listTools: () => client.listTools(),
      readResource: (uri) => client.readResource({ uri }),
      ping: () => client.ping(),
      setLevel: () => client.setLoggingLevel("info"),
      close: () => client.close(),
      serverName: () => client.getServerVersion()?.name,
      onLog: (heard) =>
        client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => heard(params.data)),
    };
  },
};

it("declares the extensions of the host, and those that are given to the transport", async () => {
  await using scenario = await server.scenario();
  const client = new Client2(info, { capabilities: { extensions: { "dev.example/one": { n: 1 } } } });
  await client.connect(new OncewireTransport(scenario.url, { extensions: { "dev.example/two": {} } }));
  const { arrivals } = await scenario.ledger();
  const { params } = arrivals.find(({ rpc }) => rpc === "initialize") ?? assert.fail();
  assert.deepEqual(params["capabilities"], { extensions: { "dev.example/one": { n: 1 }, "dev.example/two": {} } });
  await client.close();
});

for (const [name, make] of Object.entries(hosts)) {
  describe(`${name} over oncewire/transport`, () => {
    it("connects with one handshake of the core's, calls, lists, reads, and ends with one DELETE", async () => {
      await using scenario = await server.scenario();
      const host = make();
      const transport = new OncewireTransport(scenario.url);
      await host.connect(transport);
      assert.equal(host.serverName(), "fault-server");
      assert.equal((await host.call("poke")).content[0]?.text, "poke done");
      assert.ok((await host.listTools()).tools.some((tool) => tool.name === "peek"));
      await host.readResource("mem://a");
      await host.ping();
      await host.setLevel();
      assert.equal(await scenario.count("initialize"), 1);
      assert.equal(await scenario.count("notifications/initialized"), 1);
      const { arrivals } = await scenario.ledger();
      const { params } = arrivals.find(({ rpc }) => rpc === "initialize") ?? assert.fail();
      assert.deepEqual(params["clientInfo"], info);
      assert.deepEqual(params["capabilities"], { sampling: {} });
      assert.equal(transport.client?.state, "ready");
      await host.close();
      assert.equal(await scenario.count("DELETE"), 1);
    });

    it("speaks the modern era to a server that does, and answers the host in its own", async () => {
      const think = { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } };
      await using scenario = await server.scenario({
        main: { options: { era: "modern", asks: { poke: { rounds: [{ requests: { think } }] } } } },
      });
      const host = make();
      const transport = new OncewireTransport(scenario.url);
      await host.connect(transport);
      assert.equal(transport.client?.era, "modern");
      assert.equal(host.serverName(), "fault-server");
      assert.equal((await host.call("poke")).content[0]?.text, "poke done");
      assert.ok((await host.listTools()).tools.some((tool) => tool.name === "peek"));
      await host.readResource("mem://a");
      await host.ping();
      await host.setLevel();
      const { arrivals } = await scenario.ledger();
      const [, answered] = arrivals.filter((arrival) => arrival.name === "poke");
      assert.deepEqual(answered?.params["inputResponses"], { think: answer });
      assert.equal(await scenario.count("initialize"), 0);
      await host.close();
    });

    it("recovers a lost session without a word to the host", async () => {
      await using scenario = await server.scenario();
      const host = make();
      const transport = new OncewireTransport(scenario.url);
      await host.connect(transport);
      await scenario.control("forget_sessions");
      await Promise.all(Array.from({ length: 8 }, () => host.call("poke")));
      assert.equal(await scenario.executions("poke"), 8);
      assert.equal(await scenario.count("initialize"), 2);
      await host.close();
    });

    it("rejects with our own error when the answer is lost, and the tool ran once", async () => {
      await using scenario = await server.scenario({
        main: { rules: [{ when: { name: "poke" }, do: ["execute", "close"] }] },
      });
      const host = make();
      await host.connect(new OncewireTransport(scenario.url));
      await assert.rejects(
        host.call("poke"),
        (error) => error instanceof MayHaveExecutedError && error.target === "poke",
      );
      assert.equal(await scenario.executions("poke"), 1);
      await host.close();
    });

    it("rejects with the official error when the server answered with one", async () => {
      await using scenario = await server.scenario();
      const host = make();
      await host.connect(new OncewireTransport(scenario.url));
      await assert.rejects(host.call("no such tool"), (error) => {
        assert.equal((error as { code: number }).code, -32602);
        assert.match((error as Error).message, /Unknown tool/);
        return true;
      });
      await host.close();
    });

    it("rejects connect when there is no server", async () => {
      await using scenario = await server.scenario({ main: { options: { start_down: true } } });
      const host = make();
      await assert.rejects(host.connect(new OncewireTransport(scenario.url, { connectPatience: 0 })), NotExecutedError);
    });

    it("cancels by the signal of the host, and by its time-out, and the server is told", async () => {
      await using scenario = await server.scenario();
      const host = make();
      await host.connect(new OncewireTransport(scenario.url));
      const abort = new AbortController();
      const called = host.call("slow", {}, { signal: abort.signal });
      called.catch(() => {});
      await scenario.control({ await: { count: "arrivals", where: { name: "slow" }, is: 1 } });
      abort.abort();
      await assert.rejects(called);
      await assert.rejects(host.call("slow", {}, { timeout: 200 }));
      await scenario.control({ await: { count: "arrivals", where: { rpc: "notifications/cancelled" }, is: 2 } });
      await host.close();
    });

    it("passes progress on, to the host's own callback and clock", async () => {
      await using scenario = await server.scenario({ main: { options: { progress_every_ms: 100 } } });
      const host = make();
      await host.connect(new OncewireTransport(scenario.url));
      const seen: number[] = [];
      const onprogress = ({ progress }: { progress: number }) => void seen.push(progress);
      await host.call("slow", { ms: 900 }, { onprogress, timeout: 500, resetTimeoutOnProgress: true });
      assert.ok(seen.length > 2, String(seen));
      await host.close();
    });

    it("puts the server's requests and notifications to the host", async () => {
      const request = { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 }, id: "q1" };
      await using scenario = await server.scenario({
        main: {
          rules: [
            {
              when: { name: "poke" },
              do: [
                { request },
                { notify: { method: "notifications/message", params: { level: "info", data: "hi" } } },
                { answer_event: {} },
              ],
            },
          ],
        },
      });
      const host = make();
      const heard = new Inbox<unknown>();
      host.onLog(heard.put);
      await host.connect(new OncewireTransport(scenario.url));
      await host.call("poke");
      const { responses } = (await scenario.ledger()) as unknown as { responses: Record<string, unknown>[] };
      assert.deepEqual(responses[0]?.["result"], answer);
      await heard.first("the notification");
      assert.deepEqual(heard.all, ["hi"]);
      await host.close();
    });
  });
}
