/** The package has every option, method and word of the core, so that none is forgotten when the core gets one. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Client } from "oncewire";
import { packageRoot } from "./support/fault-server.js";

const read = (...path: string[]) => readFileSync(join(packageRoot, ...path), "utf8");
const core = (file: string) => read("..", "core", "src", file);
const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name ?? "");
const camelCase = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** The words of an enum of the core: `Variant => "word"`, or the variants in snake_case. */
function words(file: string, name: string): string[] {
  const text = core(file);
  const body = new RegExp(`pub enum ${name} \\{(.*?)\\n\\}`, "s").exec(text)?.[1] ?? assert.fail(name);
  return all(body, /^ {4}(\w+)(?:,|\()/gm).map((variant) =>
    variant.replace(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase(),
  );
}

/** The words of a union type of ours. */
function union(file: string, name: string): string[] {
  const body = new RegExp(`export type ${name} =([^;]*);`).exec(read("ts", file))?.[1] ?? assert.fail(name);
  return all(body, /"(\w+)"/g);
}

/** For programs that stand between a host and a server, as the proxy does; docs/options.md says so. */
const RUST_ONLY = { option: "capabilities", method: "notify" };

describe("parity with the core", () => {
  it("has every option of the builder", () => {
    const options = new Set(all(read("ts", "options.ts"), /^ {2}(\w+)\?:/gm));
    const elsewhere: Record<string, string> = {
      resetOnProgress: "resetTimeoutOnProgress",
      toolOptions: "tools",
      tokenProvider: "token",
      header: "headers",
      headerProvider: "headers",
      noProxy: "proxy",
      http1Only: "httpVersion",
      http2Only: "httpVersion",
      // The binding gives the one that `NODE_EXTRA_CA_CERTS` names.
      trustedFiles: "rootCertificates",
      // Only for tests of the core.
      exchange: "timeout",
    };
    const setters = all(core("client/builder.rs"), /pub fn (\w+)(?:<[^>]*>)?\(\s*(?:mut )?self\b/g).map(camelCase);
    assert.ok(setters.length > 30, String(setters));
    const missing = setters.filter(
      (name) => name !== "build" && name !== RUST_ONLY.option && !options.has(elsewhere[name] ?? name),
    );
    assert.deepEqual(missing, []);
  });

  it("has every method of the client", () => {
    const elsewhere: Record<string, string> = {
      callToolJson: "callTool",
      getPromptJson: "getPrompt",
      requestJson: "request",
      initialized: "serverInfo",
      isClosed: "state",
      // Done by connect.
      ready: "state",
    };
    const methods = all(core("client/mod.rs"), /^ {4}pub (?:async )?fn (\w+)\(\s*&self/gm).map(camelCase);
    assert.ok(methods.length > 20, String(methods));
    assert.deepEqual(
      methods.filter((name) => name !== RUST_ONLY.method && !((elsewhere[name] ?? name) in Client.prototype)),
      [],
    );
  });

  for (const [name, file, ours] of [
    ["Execution", "vocabulary/outcome.rs", "words.ts"],
    ["Proof", "vocabulary/outcome.rs", "words.ts"],
    ["ProofBasis", "vocabulary/outcome.rs", "words.ts"],
    ["Kind", "vocabulary/outcome.rs", "words.ts"],
    ["Phase", "vocabulary/outcome.rs", "words.ts"],
    ["EventName", "vocabulary/event.rs", "events.ts"],
    ["Resend", "vocabulary/config.rs", "options.ts"],
  ] as const) {
    it(`has the words of ${name}`, () => {
      assert.deepEqual(union(ours, name).sort(), words(file, name).sort());
    });
  }
});
