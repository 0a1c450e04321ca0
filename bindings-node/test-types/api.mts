/** What the types promise, for ESM. It is compiled and never run; each `@ts-expect-error` must meet an error. */

import {
  AnsweredError,
  type Attempt,
  type CallToolResult,
  Client,
  type ConnectOptions,
  connect,
  type Event,
  type Execution,
  type Kind,
  MayHaveExecutedError,
  NotExecutedError,
  OncewireError,
  type Proof,
  type ProofBasis,
  type RawJson,
  rawJson,
} from "oncewire";

/** Are these the same type? */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_: Same<A, B>): void {}

const client = await connect(new URL("http://127.0.0.1/mcp"), {
  token: async (refused) => {
    same<typeof refused, string | undefined>(true);
    return "token";
  },
  headers: () => ({ "X-Key": "1" }),
  onEvent: (event) => same<typeof event, Event>(true),
  onSampling: async ({ maxTokens }, { signal }) => {
    same<typeof maxTokens, number>(true);
    same<typeof signal, AbortSignal>(true);
    return { role: "assistant", content: { type: "text", text: "" }, model: "m" };
  },
  onElicitation: () => ({ action: "decline" }),
  onRoots: () => ({ roots: [] }),
  tools: { slow: { timeout: 1, resend: "never" } },
  era: "auto",
  extensions: { "dev.example/one": { n: 1 } },
  cache: true,
});
same<typeof client, Client>(true);

const result = await client.callTool({ name: "poke", arguments: { a: 1 } }, { timeout: 1, resend: "always" });
same<typeof result, CallToolResult>(true);
same<typeof result.resultType, string>(true);
same<typeof result.task, { [member: string]: unknown } | undefined>(true);
for (const block of result.content) {
  if (block.type === "text") {
    same<typeof block.text, string>(true);
  }
}
const text = await client.callTool({ name: "poke", arguments: rawJson("{}") }, { rawJson: true });
same<typeof text, string>(true);
same<RawJson["text"], string>(true);
const custom = await client.request<{ n: number }>({ method: "x", params: { a: 1 } });
same<typeof custom.n, number>(true);
const unknown = await client.request({ method: "x" });
same<typeof unknown, unknown>(true);
const nothing = await client.ping({ signal: AbortSignal.timeout(1) });
same<typeof nothing, void>(true);
const { tools } = await client.listTools();
same<(typeof tools)[number]["name"], string>(true);
for await (const event of client.events()) {
  same<typeof event, Event>(true);
  same<typeof event.kind, Kind | undefined>(true);
}

try {
  await client.callTool({ name: "poke" });
} catch (error) {
  if (error instanceof NotExecutedError) {
    same<typeof error.execution, "not_executed">(true);
    same<typeof error.proof, Proof>(true);
    same<typeof error.proofBasis, ProofBasis>(true);
  } else if (error instanceof MayHaveExecutedError) {
    same<typeof error.execution, "may_have_executed">(true);
    same<typeof error.attempts, readonly Attempt[]>(true);
    // @ts-expect-error there is no proof of what is not certain
    error.proof;
  } else if (error instanceof AnsweredError) {
    same<typeof error.kind, "rpc" | "protocol">(true);
    same<typeof error.code, number>(true);
    // @ts-expect-error the phase is of calls that were not answered
    error.phase;
  } else if (error instanceof OncewireError) {
    same<typeof error.execution, Execution>(true);
  }
}

// @ts-expect-error a tool has a name
await client.callTool({ arguments: {} });
// @ts-expect-error the arguments are an object
await client.callTool({ name: "poke", arguments: [1] });
// @ts-expect-error the word is timeout
await client.callTool({ name: "poke" }, { timeoutMs: 1 });
// @ts-expect-error only tools have a key
await client.readResource({ uri: "mem://a" }, { idempotencyKey: "k" });
// @ts-expect-error three words
await client.callTool({ name: "poke" }, { resend: "often" });
// @ts-expect-error the level is a word of the specification
await client.setLogLevel("loud");
// @ts-expect-error the arguments of a prompt are texts
await client.getPrompt({ name: "hello", arguments: { n: 1 } });
// @ts-expect-error an answer to sampling has a role
({ onSampling: () => ({ model: "m", content: "" }) }) satisfies ConnectOptions;
// @ts-expect-error the settings of an extension are an object
({ extensions: { "dev.example/one": 1 } }) satisfies ConnectOptions;
// @ts-expect-error a client is made by connect
new Client();
// @ts-expect-error an error is made of JSON
new NotExecutedError("text");

await using disposed = await connect("http://127.0.0.1/mcp", { lazy: true });
same<typeof disposed, Client>(true);

({ headers: new Headers() }) satisfies ConnectOptions;
({ headers: async () => new Map([["X-Key", "1"]]) }) satisfies ConnectOptions;
// @ts-expect-error the value of a header is a text
({ headers: { "X-Key": 1 } }) satisfies ConnectOptions;
