/** Real servers: the reference server of the MCP project, and one made with the official TypeScript SDK. Both are restarted. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";

import { AnsweredError, type Client, connect } from "oncewire";
import { packageRoot } from "./support/fault-server.js";

const fixture = (name: string) => join(packageRoot, "test", "fixtures", name);
const loopback = pathToFileURL(fixture("loopback.mjs")).href;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Another process took the port: before the server was first there, or while it was away. */
class PortTaken extends Error {}

/** A server process that can be replaced on the same port. */
class Peer implements AsyncDisposable {
  #child: ChildProcess | undefined;

  private constructor(
    readonly arguments_: string[],
    readonly port: number,
  ) {}

  static async start(...arguments_: string[]): Promise<Peer> {
    const peer = new Peer(arguments_, await freePort());
    await peer.#start();
    return peer;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  async #start(): Promise<void> {
    const child = spawn(process.execPath, ["--import", loopback, ...this.arguments_], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, PORT: String(this.port) },
    });
    this.#child = child;
    let said = "";
    await new Promise<void>((resolve, reject) => {
      child.once("close", (code) => {
        const taken = /EADDRINUSE|already in use/.test(said);
        reject(taken ? new PortTaken(said) : new Error(`the server ended: ${code}: ${said}`));
      });
      child.stderr?.on("data", (data) => {
        said = (said + data).slice(-10_000);
        if (said.includes("loopback: listening")) {
          resolve();
        }
      });
    });
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const exited = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await exited;
    }
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.#start();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** A test with a server. Its port is nobody's while it is away; when another process took it, all begins again with another port. */
function withPeer(arguments_: string[], test: (peer: Peer) => Promise<void>): () => Promise<void> {
  return async () => {
    for (let tries = 1; ; tries += 1) {
      try {
        await using peer = await Peer.start(...arguments_);
        return await test(peer);
      } catch (error) {
        if (!(error instanceof PortTaken) || tries === 5) {
          throw error;
        }
      }
    }
  };
}

const text = (result: Awaited<ReturnType<Client["callTool"]>>) => (result.content[0] as { text: string }).text;

describe("server-everything", () => {
  const server = join(packageRoot, "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js");
  const everything = [server, "streamableHttp"];

  it(
    "is listed, called, read and completed, and lives through a restart",
    withPeer(everything, async (peer) => {
      await using client = await connect(peer.url);
      const { tools } = await client.listTools();
      assert.ok(tools.some(({ name }) => name === "echo"));
      assert.match(text(await client.callTool({ name: "echo", arguments: { message: "hi" } })), /hi/);
      const { resources } = await client.listResources();
      assert.ok(resources.length > 0);
      await client.readResource({ uri: resources[0]?.uri ?? "" });
      assert.ok((await client.listPrompts()).prompts.length > 0);
      await client.ping();
      await peer.restart();
      assert.match(text(await client.callTool({ name: "echo", arguments: { message: "again" } })), /again/);
      assert.equal(client.generation, 2);
    }),
  );

  it(
    "reports progress",
    withPeer(everything, async (peer) => {
      await using client = await connect(peer.url);
      let seen = 0;
      await client.callTool(
        { name: "trigger-long-running-operation", arguments: { duration: 1, steps: 4 } },
        {
          onprogress: () => {
            seen += 1;
          },
        },
      );
      assert.ok(seen >= 3, `${seen}`);
    }),
  );
});

describe("a server of the TypeScript SDK", () => {
  it(
    "is called, read, asked and asks back, and lives through a restart under 16 callers",
    withPeer([fixture("sdk-server.mjs")], async (peer) => {
      await using client = await connect(peer.url, { onRoots: async () => ({ roots: [{ uri: "file:///here" }] }) });
      const progress: number[] = [];
      const add = { name: "add", arguments: { a: 2, b: 3 } };
      const sum = await client.callTool(add, { onprogress: ({ progress: now }) => void progress.push(now) });
      assert.equal(text(sum), "5");
      assert.deepEqual(progress, [1]);
      assert.equal(text(await client.callTool({ name: "ask" })), "file:///here");
      assert.equal((await client.readResource({ uri: "mem://a" })).contents[0]?.text, "of a");
      const { messages } = await client.getPrompt({ name: "hello", arguments: { who: "Ada" } });
      assert.deepEqual(messages[0]?.content, { type: "text", text: "Hello Ada" });
      await assert.rejects(client.readResource({ uri: "mem://nowhere" }), AnsweredError);
      await peer.restart();
      const sums = await Promise.all(Array.from({ length: 16 }, () => client.callTool(add)));
      assert.ok(sums.every((one) => text(one) === "5"));
      assert.equal(client.generation, 2);
    }),
  );
});
