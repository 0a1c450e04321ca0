/** Logins: the options reach the core, and what it asks reaches the functions. What is decided is tested in the core. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { connect, type Event, type LoginStore, NotExecutedError } from "oncewire";
import { FaultServer } from "./support/fault-server.js";

let server: FaultServer;
before(async () => {
  server = await FaultServer.start();
});
after(() => server.close());

const guarded = { main: { options: { authorization: {}, protected: {} } } };

/** What a browser would be sent to: the server grants everything at once. */
async function receive(url: string): Promise<string> {
  const { headers } = await fetch(url, { redirect: "manual" });
  return headers.get("location") ?? assert.fail("there was no redirect");
}

describe("oauth", () => {
  it("logs in by itself, and tells", async () => {
    await using scenario = await server.scenario(guarded);
    const events: Event[] = [];
    const opened: string[] = [];
    await using client = await connect(scenario.url, {
      oauth: { store: "memory", open: (url) => void opened.push(url), receive },
      onEvent: (event) => void events.push(event),
    });
    await client.callTool({ name: "peek" });
    await client.login();
    assert.equal(client.state, "ready");
    const named = (name: string) => events.filter(({ event }) => event === name);
    assert.deepEqual(
      named("login_needed").map(({ url }) => url),
      opened,
    );
    assert.deepEqual([opened.length, named("login_done").length], [1, 1]);
  });

  it("keeps the login in a store of the host", async () => {
    await using scenario = await server.scenario(guarded);
    const values = new Map<string, string>();
    let locks = 0;
    const store: LoginStore = {
      load: (key) => values.get(key),
      save: async (key, value) => void (value === null ? values.delete(key) : values.set(key, value)),
      lock: async () => {
        locks += 1;
      },
      unlock: () => {
        locks -= 1;
      },
    };
    let logins = 0;
    const counted = (url: string) => {
      logins += 1;
      return receive(url);
    };
    const oauth = { store, receive: counted };
    for (let round = 0; round < 2; round += 1) {
      await using client = await connect(scenario.url, { oauth });
      await client.callTool({ name: "peek" });
    }
    assert.deepEqual([logins, values.size, locks], [1, 1, 0]);
    await using client = await connect(scenario.url, { oauth });
    await client.logout();
    assert.doesNotMatch(String([...values.values()]), /access_token/);
  });

  it("a function that throws fails the login and says why", async () => {
    await using scenario = await server.scenario(guarded);
    const oauth = {
      store: "memory" as const,
      receive: () => {
        throw new Error("nobody is here");
      },
    };
    await assert.rejects(connect(scenario.url, { oauth }), (error) => {
      assert.ok(error instanceof NotExecutedError);
      assert.equal(error.kind, "auth");
      assert.match(error.message, /nobody is here/);
      return true;
    });
  });

  it("what cannot be used names itself", async () => {
    await using scenario = await server.scenario({ main: {} });
    await assert.rejects(connect(scenario.url, { oauth: { clientSecret: "s3cret" } }), /need client_id/);
    await assert.rejects(connect(scenario.url, { oauth: { store: "memory", folder: "here" } }), /the one or the other/);
    const unknown = { clientID: "c" } as object;
    await assert.rejects(connect(scenario.url, { oauth: unknown }), /unknown field `clientID`/);
  });
});
