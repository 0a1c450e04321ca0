/**
 * The client that the official conformance suite drives, in Node: `client.mjs URL`, with the scenario in the environment.
 *
 * It behaves alike in every scenario: it lists what the server offers and calls each of it once. The few that ask for more are named in `play`.
 */

import { connect } from "../../bindings-node/esm/index.mjs";

/** The longest that a scenario may take, in milliseconds; the suite's own limit ends only the shell around us. */
const LIMIT = 20_000;

const { MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_PROTOCOL_VERSION = "", MCP_CONFORMANCE_CONTEXT } = process.env;

/** The era of the version that the scenario is run with. The client finds it out by itself. */
const ERA = MCP_CONFORMANCE_PROTOCOL_VERSION >= "2026" ? "modern" : "legacy";

/** Plays the client in the scenario that the environment names. */
async function play(url) {
  let heard;
  const listening = new Promise((resolve) => {
    heard = resolve;
  });
  const client = await connect(url, {
    // What is left out is filled with the defaults of the schema: by the client, not here.
    onElicitation: () => ({ action: "accept", content: {} }),
    // Nothing asks for these two; they are declared.
    onSampling: () => {
      throw new Error("there is no model here");
    },
    onRoots: () => ({ roots: [] }),
    onEvent: (event) => {
      if (event.event === "listener_on") heard();
    },
    ...(MCP_CONFORMANCE_SCENARIO.startsWith("auth/") ? { oauth: login(MCP_CONFORMANCE_SCENARIO.slice(5)) } : {}),
  });
  if (client.era !== ERA) throw new Error(`the client speaks the wrong era: ${client.era}`);
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

/** How the client logs in: as a person's in a browser, unless the scenario gives it something else to log in with. */
function login(scenario) {
  const context = JSON.parse(MCP_CONFORMANCE_CONTEXT ?? "{}");
  const person = { store: "memory", receive: redirect };
  const client = { ...person, clientId: context.client_id, clientSecret: context.client_secret };
  switch (scenario) {
    case "basic-cimd":
      return { ...person, clientMetadataUrl: "https://conformance-test.local/client-metadata.json" };
    case "pre-registration":
      return { ...client, issuer: context.issuer };
    case "client-credentials-basic":
      return { ...client, clientCredentials: true };
    case "client-credentials-jwt":
      return {
        ...client,
        clientCredentials: true,
        privateKey: { pem: context.private_key_pem, algorithm: context.signing_algorithm },
      };
    case "enterprise-managed-authorization":
      return {
        ...client,
        enterprise: {
          tokenEndpoint: context.idp_token_endpoint,
          clientId: context.idp_client_id,
          idToken: () => context.idp_id_token,
        },
      };
    case "wif-jwt-bearer":
      return { ...client, workloadIdentity: async () => context.valid_jwt };
    case "dpop":
    case "dpop-nonce":
      return { ...person, dpop: true };
    default:
      return person;
  }
}

/** What the browser of a person would do: the suite's authorization servers grant everything, and send it back at once. */
async function redirect(url) {
  const { headers } = await fetch(url, { redirect: "manual" });
  return headers.get("location");
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
  if (client.capabilities?.resources === undefined) return;
  for (const { uri } of (await client.listResources()).resources) await client.readResource({ uri });
}

/** Gets every prompt, if there are any. */
async function usePrompts(client) {
  if (client.capabilities?.prompts === undefined) return;
  for (const { name } of (await client.listPrompts()).prompts) await client.getPrompt({ name });
}

const clock = setTimeout(() => {
  console.error("the scenario takes too long");
  process.exit(1);
}, LIMIT);
await play(process.argv.at(-1));
clearTimeout(clock);
