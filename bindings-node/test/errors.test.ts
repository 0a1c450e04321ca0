/** The errors: classes, fields, one JSON object, a stack that shows the caller, exactly one rejection. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { inspect } from "node:util";

import { AnsweredError, connect, FailureError, MayHaveExecutedError, NotExecutedError, OncewireError } from "oncewire";
import { FaultServer } from "./support/fault-server.js";

let server: FaultServer;
before(async () => {
  server = await FaultServer.start();
});
after(() => server.close());

/** The error of this call. */
async function caught(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => assert.fail("no error"),
    (error: unknown) => error,
  );
}

const cuts = { main: { rules: [{ when: { name: "poke" }, do: ["execute", "close"] }] } };

describe("errors", () => {
  it("is a MayHaveExecutedError when the answer was lost", async () => {
    await using scenario = await server.scenario(cuts);
    await using client = await connect(scenario.url);
    const error = await caught(client.callTool({ name: "poke" }, { idempotencyKey: "use-1" }));
    assert.ok(error instanceof MayHaveExecutedError);
    assert.ok(error instanceof FailureError && error instanceof OncewireError && error instanceof Error);
    assert.equal(error.name, "MayHaveExecutedError");
    assert.equal(error.kind, "connection_closed");
    assert.equal(error.execution, "may_have_executed");
    assert.equal(error.phase, "awaiting_headers");
    assert.equal(error.method, "tools/call");
    assert.equal(error.target, "poke");
    assert.equal(error.idempotencyKey, "use-1");
    assert.equal(error.generation, 1);
    assert.equal(error.attempts.length, 1);
    assert.equal(error.attempts[0]?.kind, "connection_closed");
    assert.equal(error.attempts[0]?.responseStarted, false);
    assert.ok((error.attempts[0]?.startedMs ?? 0) > 1e12);
    assert.match(
      error.message,
      /after tools\/call "poke" was sent; the tool may have run: check before running it again/,
    );
    assert.ok(error.cause instanceof Error, "the error underneath");
    assert.equal(await scenario.executions("poke"), 1);
  });

  it("is a NotExecutedError with a proof when nothing was sent", async () => {
    await using scenario = await server.scenario({ main: { options: { start_down: true } } });
    const error = await caught(connect(scenario.url, { connectPatience: 0 }));
    assert.ok(error instanceof NotExecutedError);
    assert.equal(error.kind, "connect");
    assert.equal(error.proof, "never_sent");
    assert.equal(error.proofBasis, "certain");
    assert.equal(error.toJSON()["proof_basis"], "certain");
    assert.equal(error.execution, "not_executed");
  });

  it("is an AnsweredError with code, message and data when the server said so", async () => {
    const json = { jsonrpc: "2.0", id: "$id", error: { code: -32050, message: "full", data: { left: 0 } } };
    await using scenario = await server.scenario({
      main: { rules: [{ when: { name: "poke" }, do: [{ respond: { json } }] }] },
    });
    await using client = await connect(scenario.url);
    const error = await caught(client.callTool({ name: "poke" }));
    assert.ok(error instanceof AnsweredError);
    assert.ok(!(error instanceof FailureError));
    assert.equal(error.kind, "rpc");
    assert.equal(error.execution, "answered");
    assert.equal(error.code, -32050);
    assert.equal(error.serverMessage, "full");
    assert.deepEqual(error.data, { left: 0 });
    assert.equal(error.httpStatus, 200);
  });

  it("gives the figure of Retry-After and the beginning of what was no answer", async () => {
    const full = { status: 429, headers: { "Retry-After": "3600" } };
    const html = { status: 502, headers: { "Content-Type": "text/html" }, text: "<html>bad gateway</html>" };
    await using scenario = await server.scenario({
      main: {
        rules: [
          // The twin of the call, too.
          { when: { name: "poke" }, do: [{ respond: full }] },
          { when: { rpc: "ping" }, do: [{ respond: full }] },
          { when: { name: "nudge" }, do: [{ respond: html }] },
        ],
      },
    });
    await using client = await connect(scenario.url, { trustAnnotations: "none" });
    const limited = await caught(client.callTool({ name: "poke" }));
    assert.ok(limited instanceof NotExecutedError);
    assert.equal(limited.retryAfterSeconds, 3600);
    assert.deepEqual([limited.proofBasis, limited.attempts[0]?.proofBasis], ["confirmed", "confirmed"]);
    assert.match(limited.message, /wait 3600 s/);
    const gateway = await caught(client.callTool({ name: "nudge" }));
    assert.ok(gateway instanceof MayHaveExecutedError);
    assert.equal(gateway.httpStatus, 502);
    assert.equal(gateway.excerpt, html.text);
    assert.doesNotMatch(gateway.message, /html/);
  });

  it("shows the caller in its stack, and nothing of this package above the method", async () => {
    await using scenario = await server.scenario(cuts);
    await using client = await connect(scenario.url);
    async function theCaller() {
      return await client.callTool({ name: "poke" });
    }
    const error = (await caught(theCaller())) as Error;
    const frames = error.stack?.split("\n").filter((line) => line.trim().startsWith("at ")) ?? [];
    assert.match(frames[0] ?? "", /Client\.callTool/);
    assert.match(error.stack ?? "", /async theCaller/);
    assert.match(error.stack ?? "", /errors\.test/);
    async function theConnector() {
      return await connect("http://127.0.0.1:9/", { connectPatience: 0 });
    }
    assert.match(((await caught(theConnector())) as Error).stack ?? "", /async theConnector/);
  });

  it("is one JSON object, the same in all languages, and comes back from it", async () => {
    await using scenario = await server.scenario(cuts);
    await using client = await connect(scenario.url);
    const error = (await caught(client.callTool({ name: "poke" }))) as MayHaveExecutedError;
    const json = JSON.parse(JSON.stringify(error)) as Record<string, unknown>;
    assert.equal(json["kind"], "connection_closed");
    assert.equal(json["execution"], "may_have_executed");
    assert.equal(json["name"], "poke");
    assert.equal((json["attempts"] as Record<string, unknown>[])[0]?.["response_started"], false);
    const again = OncewireError.fromJSON(json as never);
    assert.ok(again instanceof MayHaveExecutedError);
    assert.equal(again.message, error.message);
    assert.deepEqual(again.attempts, error.attempts);
    assert.equal(JSON.stringify(again), JSON.stringify(error));
  });

  it("holds no secret", async () => {
    await using scenario = await server.scenario(cuts);
    const secret = "s3cret-token";
    await using client = await connect(scenario.url, { token: secret, headers: { "X-Key": secret } });
    const error = await caught(client.callTool({ name: "poke", arguments: { password: secret } }));
    for (const text of [
      String(error),
      inspect(error, { depth: 9, showHidden: true }),
      JSON.stringify(error),
      inspect(client, { depth: 9 }),
    ]) {
      assert.ok(!text.includes(secret), text);
    }
  });

  it("rejects each of many calls once, with an error of its own", async () => {
    await using scenario = await server.scenario(cuts);
    await using client = await connect(scenario.url);
    const settled = await Promise.allSettled(Array.from({ length: 16 }, () => client.callTool({ name: "poke" })));
    const reasons = settled.map((one) => (one as PromiseRejectedResult).reason as unknown);
    assert.ok(reasons.every((reason) => reason instanceof MayHaveExecutedError));
    assert.equal(new Set(reasons).size, 16);
    assert.equal(await scenario.executions("poke"), 16);
  });

  it("says closed after close, and that nothing was executed", async () => {
    await using scenario = await server.scenario();
    const client = await connect(scenario.url);
    await client.close();
    const error = await caught(client.callTool({ name: "poke" }));
    assert.ok(error instanceof NotExecutedError);
    assert.equal(error.kind, "closed");
    assert.equal(client.state, "closed");
  });
});
