// What a call costs, against the official clients and a bare fetch, in one run on one server, so that only ratios are claimed:
//
//   npm run build && npm run bench            # --quick shows that it works, not what it costs
//
// The server is `oncewire-bench --serve`, which costs as little as it can. Rounds of each contender in turn, so that what else the machine
// does hits all alike; the best round of each counts. Then: how much of the event loop 16 callers take, and memory over 100,000 calls.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { StreamableHTTPClientTransport as Http2, Client as Official2 } from "@modelcontextprotocol/client";
import { Client as Official1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { connect } from "oncewire";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc");
const quick = process.argv.includes("--quick");
const [ROUNDS, MS, CALLS] = quick ? [1, 200, 2_000] : [5, 2_000, 100_000];
const info = { name: "bench", version: "1.0.0" };
const poke = { name: "poke", arguments: { a: 1 } };

async function bare(url) {
  const post = async (body, headers) => {
    const all = { "Content-Type": "application/json", Accept: "application/json, text/event-stream", ...headers };
    const response = await fetch(url, { method: "POST", headers: all, body: JSON.stringify(body) });
    return { session: response.headers.get("mcp-session-id"), answer: await response.text() };
  };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: info };
  const { session } = await post({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  const headers = { "Mcp-Session-Id": session ?? "", "MCP-Protocol-Version": "2025-11-25" };
  await post({ jsonrpc: "2.0", method: "notifications/initialized" }, headers);
  let id = 0;
  return {
    call: async () => {
      id += 1;
      return JSON.parse((await post({ jsonrpc: "2.0", id, method: "tools/call", params: poke }, headers)).answer)
        .result;
    },
    close: async () => {},
  };
}

async function ours(url) {
  const client = await connect(url);
  return { call: () => client.callTool(poke), close: () => client.close() };
}

async function official(client, transport) {
  await client.connect(transport);
  return { call: () => client.callTool(poke), close: () => client.close() };
}

const contenders = {
  oncewire: ours,
  "@modelcontextprotocol/client 2": (url) => official(new Official2(info), new Http2(new URL(url))),
  "@modelcontextprotocol/sdk 1": (url) => official(new Official1(info), new Http1(new URL(url))),
  "bare fetch": bare,
};

/** Calls in a row by so many callers, for so long; gives calls a second. */
async function measure({ call }, callers, ms) {
  const since = performance.now();
  let calls = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() - since < ms) {
        await call();
        calls += 1;
      }
    }),
  );
  return (calls / (performance.now() - since)) * 1_000;
}

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const build = ["build", "--quiet", "--release", "-p", "oncewire-bench", "--message-format=json"];
const messages = execFileSync("cargo", build, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28 })
  .trim()
  .split("\n");
const { executable } = messages.map((line) => JSON.parse(line)).findLast((message) => message.executable);
const server = spawn(executable, ["--serve"], { stdio: ["pipe", "pipe", "inherit"] });
const [url] = await once(createInterface({ input: server.stdout }), "line");

for (const callers of [1, 16]) {
  const best = {};
  const running = {};
  for (const [name, make] of Object.entries(contenders)) {
    running[name] = await make(url);
  }
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const name of Object.keys(contenders)) {
      const rate = await measure(running[name], callers, round === 0 ? MS / 4 : MS);
      best[name] = Math.max(best[name] ?? 0, rate);
    }
  }
  for (const client of Object.values(running)) {
    await client.close();
  }
  console.log(`\n${callers} caller${callers > 1 ? "s" : ""}`);
  for (const [name, rate] of Object.entries(best)) {
    const ratio = (best.oncewire / rate).toFixed(2);
    console.log(
      `  ${name.padEnd(32)} ${Math.round(rate).toString().padStart(7)} calls/s   oncewire is ${ratio} times as fast`,
    );
  }
}

console.log("\nthe event loop under 16 callers");
for (const [name, make] of Object.entries(contenders)) {
  const client = await make(url);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const before = performance.eventLoopUtilization();
  delay.enable();
  const rate = await measure(client, 16, MS);
  delay.disable();
  const { active } = performance.eventLoopUtilization(before);
  const p99 = (delay.percentile(99) / 1e6).toFixed(1);
  const perCall = ((active / (rate * (MS / 1_000))) * 1_000).toFixed(0);
  console.log(`  ${name.padEnd(32)} ${perCall.padStart(5)} us of the loop a call, delay p99 ${p99} ms`);
  await client.close();
}

console.log(`\nmemory of oncewire over ${CALLS} calls`);
const client = await ours(url);
const used = () => {
  gc();
  return process.memoryUsage().rss / 2 ** 20;
};
for (let part = 0; part <= 5; part += 1) {
  for (let calls = 0; calls < CALLS / 5 && part > 0; calls += 16) {
    await Promise.all(Array.from({ length: 16 }, client.call));
  }
  console.log(`  after ${((CALLS / 5) * part).toString().padStart(6)}: ${used().toFixed(1)} MB`);
}
await client.close();
server.stdin.end();
