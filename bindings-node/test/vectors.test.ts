/** Every scenario vector that is marked for Node. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { FaultServer, vectors } from "./support/fault-server.js";
import { run } from "./support/vector-runner.js";

/** Most of the time of a vector is spent waiting; more than this and the clocks of the servers show it. */
const AT_ONCE = 6;

describe("vectors", { concurrency: AT_ONCE }, () => {
  let server: FaultServer;
  before(async () => {
    server = await FaultServer.start();
  });
  after(() => server.close());

  const only = process.env["ONCEWIRE_VECTOR"] ?? "";
  for (const vector of vectors().filter((vector) => vector.name.includes(only))) {
    it(`${vector.name}: ${vector.about}`, { timeout: 90_000 }, async () => {
      assert.deepEqual(await run(server, vector), []);
    });
  }
});
