/** Servers on stdio: the scripted one, which notes what it did in a file that outlives it. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import { AnsweredError, connectStdio, MayHaveExecutedError, NotExecutedError, type ServerCommand } from "oncewire";
import { binary } from "./support/fault-server.js";

const folder = mkdtempSync(join(tmpdir(), "oncewire-stdio-"));
after(() => rmSync(folder, { recursive: true }));

type Note = "eof" | Record<string, unknown>;

/** A server that is not started yet, and what it noted. */
function scripted(name: string, lives: object[] = [], options: object = {}) {
  const ledger = join(folder, name);
  const args = ["--stdio", ledger, "--script", JSON.stringify({ lives, options })];
  const notes = () =>
    readFileSync(ledger, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Note);
  const count = (what: string) => notes().filter((note) => typeof note === "object" && what in note).length;
  const command: ServerCommand = { command: binary(), args };
  return { command, notes, count };
}

describe("stdio", () => {
  for (const [era, version] of [
    ["legacy", "2025-11-25"],
    ["modern", "2026-07-28"],
  ]) {
    it(`speaks the ${era} era over pipes`, async () => {
      const server = scripted(`era-${era}`, [], { era });
      const seen: number[] = [];
      {
        await using client = await connectStdio(server.command);
        assert.equal(client.protocolVersion, version);
        assert.equal((await client.listTools()).tools.length, 5);
        await client.callTool(
          { name: "poke", arguments: { progress: 3 } },
          { onprogress: ({ progress }) => void seen.push(progress) },
        );
        await assert.rejects(client.callTool({ name: "nothing" }), (error) => {
          assert.ok(error instanceof AnsweredError);
          return true;
        });
      }
      assert.deepEqual(seen, [1, 2, 3]);
      assert.equal(server.count("started"), 1);
      assert.equal(server.notes().at(-1), "eof");
    });
  }

  it("judges a process that ends, and replaces it", async () => {
    const life = { ends_after_running: true, exit_code: 7, stderr: ["the last words"] };
    const server = scripted("ends", [life]);
    await using client = await connectStdio(server.command);
    await assert.rejects(client.callTool({ name: "poke" }), (error) => {
      assert.ok(error instanceof MayHaveExecutedError);
      assert.equal(error.kind, "connection_closed");
      assert.match(error.message, /exit code 7.*the last words/);
      return true;
    });
    await client.callTool({ name: "poke" });
    assert.equal(client.generation, 2);
    assert.deepEqual([server.count("started"), server.count("ran")], [2, 2]);
  });

  it("names what cannot be used", async () => {
    const named = (pattern: RegExp) => (error: unknown) => {
      assert.ok(error instanceof NotExecutedError);
      assert.match(error.message, pattern);
      return true;
    };
    await assert.rejects(connectStdio({ command: "/no/such/program" }), named(/could not be started/));
    await assert.rejects(connectStdio({ command: "cat" }, { token: "secret" }), named(/token/));
    await assert.rejects(connectStdio({ command: "cat", folder: "/no/such/folder" }), named(/folder/));
    const wrong = { command: "cat", args: "-u" } as unknown as ServerCommand;
    await assert.rejects(connectStdio(wrong), named(/args/));
  });

  it("gives the server the environment that is given", async () => {
    const server = scripted("environment");
    const out = join(folder, "out");
    const args = ["-c", 'env > "$OUT"; exec "$@"', "sh", server.command.command, ...(server.command.args ?? [])];
    const command = { command: "/bin/sh", args, env: { OUT: out }, folder, inherit: ["PATH"] };
    await using client = await connectStdio(command);
    await client.ping();
    const names = readFileSync(out, "utf8")
      .split("\n")
      .map((line) => line.split("=")[0]);
    assert.ok(names.includes("OUT") && names.includes("PATH") && !names.includes("HOME"));
  });
});
