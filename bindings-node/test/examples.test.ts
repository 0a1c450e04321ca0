/** The examples, against the fault server, with a model that follows a script. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { connect } from "oncewire";
import { tools } from "../examples/ai-sdk-tools.js";
import { harness, type Turn } from "../examples/harness-loop.js";
import { FaultServer } from "./support/fault-server.js";

let server: FaultServer;
before(async () => {
  server = await FaultServer.start();
});
after(() => server.close());

/** A server that runs the tool and drops the connection before it answers, the first time. */
const runsAndCuts = (tool: string) => ({
  main: { rules: [{ when: { name: tool }, times: 1, do: ["execute", "close"] }] },
});

/** A model that says these things in turn. */
function scripted(turns: Turn[]): (transcript: readonly string[]) => Turn {
  return (transcript) => turns[transcript.length] ?? { say: "I am at a loss" };
}

describe("the harness loop", () => {
  it("looks before it repeats, and the tool ran once", async () => {
    await using scenario = await server.scenario(runsAndCuts("poke"));
    await using client = await connect(scenario.url);
    const model = scripted([{ tool: "poke", arguments: {}, id: "use-1" }, { say: "poked" }]);
    const transcript = await harness(client, model, async (_, { tool, id }) => {
      const { executions } = await scenario.ledger();
      return executions.some((execution) => execution.name === tool && execution.key === id);
    });
    assert.match(transcript[0] ?? "", /done; the answer was lost \(connection_closed\)/);
    assert.equal(transcript[1], "poked");
    assert.equal(await scenario.executions("poke"), 1);
  });

  it("tells the model when there was no effect, and lets it decide", async () => {
    await using scenario = await server.scenario({
      main: { rules: [{ when: { name: "poke" }, times: 1, do: ["close"] }] },
    });
    await using client = await connect(scenario.url);
    const poke = { tool: "poke", arguments: {}, id: "use-1" };
    const model = scripted([poke, { ...poke, id: "use-2" }, { say: "poked" }]);
    const transcript = await harness(client, model, async () => (await scenario.executions("poke")) > 0);
    assert.match(transcript[0] ?? "", /no effect yet; the call was lost/);
    assert.match(transcript[1] ?? "", /poke done/);
    assert.equal(await scenario.executions("poke"), 1);
  });

  it("survives a restart of the server without a word to the model", async () => {
    await using scenario = await server.scenario();
    await using client = await connect(scenario.url);
    await scenario.control("forget_sessions");
    const model = scripted([{ tool: "poke", arguments: {}, id: "use-1" }, { say: "poked" }]);
    const transcript = await harness(client, model, async () => assert.fail("there is nothing to verify"));
    assert.match(transcript[0] ?? "", /poke done/);
    assert.equal(client.generation, 2);
    assert.equal(await scenario.executions("poke"), 1);
  });
});

describe("the AI SDK tool set", () => {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: 1, reasoning: undefined },
  };
  const calls = (toolName: string, toolCallId: string) => ({
    content: [{ type: "tool-call" as const, toolCallId, toolName, input: "{}" }],
    finishReason: { unified: "tool-calls" as const, raw: undefined },
    usage,
    warnings: [],
  });
  const says = (text: string) => ({
    content: [{ type: "text" as const, text }],
    finishReason: { unified: "stop" as const, raw: undefined },
    usage,
    warnings: [],
  });

  it("tells the model of a lost answer, and the tool ran once under the id of the tool use", async () => {
    await using scenario = await server.scenario(runsAndCuts("poke"));
    await using client = await connect(scenario.url);
    const model = new MockLanguageModelV3({ doGenerate: [calls("poke", "use-7"), says("I shall check first.")] });
    const { text, steps } = await generateText({
      model,
      tools: await tools(client),
      prompt: "poke it",
      stopWhen: stepCountIs(3),
    });
    assert.equal(text, "I shall check first.");
    const output = steps[0]?.toolResults[0]?.output as { unknownOutcome: boolean; text: string };
    assert.equal(output.unknownOutcome, true);
    assert.match(output.text, /the tool may have run: check before running it again/);
    const { executions } = await scenario.ledger();
    assert.deepEqual(
      executions.filter(({ name }) => name === "poke").map(({ key }) => key),
      ["use-7"],
    );
  });

  it("gives results as the server sent them", async () => {
    await using scenario = await server.scenario();
    await using client = await connect(scenario.url);
    const model = new MockLanguageModelV3({ doGenerate: [calls("peek", "use-1"), says("done")] });
    const { steps } = await generateText({
      model,
      tools: await tools(client),
      prompt: "peek",
      stopWhen: stepCountIs(3),
    });
    const output = steps[0]?.toolResults[0]?.output as { content: { text: string }[] };
    assert.equal(output.content[0]?.text, "peek done");
  });
});
