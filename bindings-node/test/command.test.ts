/** The command in the package, as `npx oncewire` runs it. What it does is tested in Rust. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";

import { FaultServer, packageRoot } from "./support/fault-server.js";

let server: FaultServer;
before(async () => {
  server = await FaultServer.start();
});
after(() => server.close());

const { bin } = require(join(packageRoot, "package.json"));

function start(...args: string[]): ChildProcess {
  return spawn(process.execPath, [join(packageRoot, bin.oncewire), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 60_000,
  });
}

/** How it ends, and what it wrote. */
function ended(child: ChildProcess): Promise<{ code: number | null; out: string; err: string }> {
  let [out, err] = ["", ""];
  child.stdout?.on("data", (data) => {
    out += data;
  });
  child.stderr?.on("data", (data) => {
    err += data;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, out, err }));
  });
}

describe("the command", () => {
  it("calls a tool, and ends with the code of the verdict", async () => {
    await using scenario = await server.scenario();
    const ran = await ended(start("call", scenario.url, "echo", "to=ada", "--json"));
    assert.deepEqual({ code: ran.code, err: ran.err }, { code: 0, err: "" });
    assert.deepEqual(JSON.parse(ran.out).structuredContent, { to: "ada" });
    const bad = await ended(start("call", scenario.url, "echo", "ada"));
    assert.equal(bad.code, 2);
    assert.match(bad.err, /nothing was sent/);
  });

  it("hears Ctrl+C", async () => {
    await using scenario = await server.scenario();
    const child = start("watch", scenario.url, "--json");
    const end = ended(child);
    assert.ok(child.stdout);
    for await (const line of createInterface({ input: child.stdout })) {
      if (JSON.parse(line).event === "ready") {
        break;
      }
    }
    child.kill("SIGINT");
    const { code, err } = await end;
    assert.deepEqual({ code, err }, { code: 0, err: "" });
  });
});
