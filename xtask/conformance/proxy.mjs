/**
 * The client that the official conformance suite drives through `oncewire proxy`: `proxy.mjs ONCEWIRE URL`, with the scenario in the
 * environment. It is the official client, npm `@modelcontextprotocol/sdk`, on standard input and output, as hosts are.
 */

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

/** The longest that a scenario may take, in milliseconds; the suite's own limit ends only the shell around us. */
const LIMIT = 20_000;

const { MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_CONTEXT, CONFORMANCE_PACKAGES } = process.env;
const require = createRequire(`${CONFORMANCE_PACKAGES}/node_modules/`);
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}.js`)));
const { Client } = await load("client/index");
const { StdioClientTransport } = await load("client/stdio");
const { ElicitRequestSchema, ListRootsRequestSchema } = await load("types");

/** Plays the client in the scenario that the environment names. */
async function play(oncewire, url) {
  const args = ["proxy", url, "--no-oauth", "--no-proxy", "--events"];
  const transport = new StdioClientTransport({ command: oncewire, args, stderr: "pipe" });
  let heard;
  const listening = new Promise((resolve) => {
    heard = resolve;
  });
  let said = "";
  transport.stderr.on("data", (bytes) => {
    said += bytes;
    if (said.includes('"event":"listener_on"')) heard();
  });
  const capabilities = { elicitation: {}, roots: {}, sampling: {} };
  const client = new Client({ name: "host", version: "1.0.0" }, { capabilities });
  // What is left out is filled with the defaults of the schema: by the proxy, not here.
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: {} }));
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [] }));
  await client.connect(transport);
  switch (MCP_CONFORMANCE_SCENARIO) {
    case "elicitation-sep1034-client-defaults":
      // The server asks on the stream that the client opens beside its calls, and asks nobody if there is none yet.
      await listening;
      await useTools(client);
      break;
    case "http-custom-headers":
      for (const { name, arguments: given } of JSON.parse(MCP_CONFORMANCE_CONTEXT).toolCalls) {
        await client.callTool({ name, arguments: given });
      }
      break;
    case "json-schema-2020-12-preservation": {
      const tool = (await client.listTools()).tools.find(({ name }) => name === "json_schema_2020_12_tool");
      await client.callTool({ name: "json_schema_echo", arguments: { schema: tool.inputSchema } });
      break;
    }
    case "json-schema-ref-no-deref":
      if ((await client.listTools()).tools.length === 0) throw new Error("the server has no tools");
      break;
    default:
      await useTools(client);
      await useResources(client);
      await usePrompts(client);
  }
  await client.close();
}

/** Calls every tool, with arguments that its schema takes. */
async function useTools(client) {
  for (const { name, inputSchema } of (await client.listTools()).tools) {
    const result = await client.callTool({ name, arguments: argumentsOf(inputSchema) });
    console.log(`${name}: ${JSON.stringify(result.content)}`);
  }
}

/** Something of the right type for each argument that a tool cannot do without. */
function argumentsOf({ properties = {}, required = [] }) {
  const values = { number: 2, integer: 2, boolean: true };
  return Object.fromEntries(required.map((name) => [name, values[properties[name].type] ?? "text"]));
}

/** Reads every resource, if there are any. */
async function useResources(client) {
  if (client.getServerCapabilities()?.resources === undefined) return;
  for (const { uri } of (await client.listResources()).resources) await client.readResource({ uri });
}

/** Gets every prompt, if there are any. */
async function usePrompts(client) {
  if (client.getServerCapabilities()?.prompts === undefined) return;
  for (const { name } of (await client.listPrompts()).prompts) await client.getPrompt({ name });
}

const clock = setTimeout(() => {
  console.error("the scenario takes too long");
  process.exit(1);
}, LIMIT);
await play(...process.argv.slice(-2));
clearTimeout(clock);
