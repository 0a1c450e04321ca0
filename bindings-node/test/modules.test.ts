/** Both module systems, and two copies of the package in one process. */

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";

import * as common from "oncewire";
import * as commonTransport from "oncewire/transport";
import { FaultServer, packageRoot } from "./support/fault-server.js";

let server: FaultServer;
before(async () => {
  server = await FaultServer.start();
});
after(() => server.close());

// Hidden from the compiler, which would make a require of it.
const load = new Function("url", "return import(url)") as (url: string) => Promise<typeof common>;

describe("modules", () => {
  it("export the same things and the same classes to ESM and CommonJS", async () => {
    const esm = await load(pathToFileURL(join(packageRoot, "esm", "index.mjs")).href);
    assert.deepEqual(Object.keys(esm).sort(), Object.keys(common).sort());
    for (const [name, value] of Object.entries(common)) {
      assert.equal((esm as Record<string, unknown>)[name], value, name);
    }
    const transport = await load(pathToFileURL(join(packageRoot, "esm", "transport.mjs")).href);
    assert.deepEqual(Object.keys(transport), Object.keys(commonTransport));
  });

  it("in two copies of the package do not disturb each other", async () => {
    const folder = mkdtempSync(join(tmpdir(), "oncewire-copy-"));
    try {
      const files = readdirSync(packageRoot).filter((name) =>
        /^(dist|native\.js|package\.json|oncewire\..*\.node)$/.test(name),
      );
      for (const name of files) {
        cpSync(join(packageRoot, name), join(folder, name), { recursive: true });
      }
      const copy = createRequire(join(folder, "package.json"))("./dist/index.js") as typeof common;
      assert.notEqual(copy.NotExecutedError, common.NotExecutedError);
      await using scenario = await server.scenario();
      await using first = await common.connect(scenario.url);
      {
        await using second = await copy.connect(scenario.url);
        const both = [first.callTool({ name: "poke" }), second.callTool({ name: "poke" })];
        await Promise.all(both);
        await assert.rejects(second.callTool({} as never), (error) => error instanceof copy.NotExecutedError);
      }
      await first.callTool({ name: "poke" });
      await assert.rejects(first.callTool({} as never), (error) => error instanceof common.NotExecutedError);
      assert.equal(await scenario.executions("poke"), 3);
      assert.equal(await scenario.count("initialize"), 2);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
