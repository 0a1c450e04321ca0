// A host on an official TypeScript client, over the standard input and output of the command that it is given. Reads one order a line,
// does it, and writes one line of what came of it.
//
// PEER_PACKAGES is the folder of the package, PEER_CLIENT says which one: `sdk` (1.x) or `client` (2.x, which finds the era out).

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.PEER_PACKAGES}/node_modules/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));

async function connected([command, ...args]) {
  const info = { name: "host", version: "1.0.0" };
  if (process.env.PEER_CLIENT === "sdk") {
    const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
    const client = new Client(info, { capabilities: {} });
    await client.connect(new StdioClientTransport({ command, args }));
    return client;
  }
  const { Client } = await load("@modelcontextprotocol/client");
  const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
  const client = new Client(info, { capabilities: {}, versionNegotiation: { mode: "auto" } });
  await client.connect(new StdioClientTransport({ command, args }));
  return client;
}

const client = await connected(process.argv.slice(2));
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const orders = {
  list: async () => (await client.listTools()).tools.length,
  call: async ({ tool, arguments: given }) => (await client.callTool({ name: tool, arguments: given })).content?.length ?? 0,
  server: async () => client.getServerVersion()?.name,
};

say({ ok: "connected" });
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  if (order.do === "close") {
    break;
  }
  try {
    say({ ok: await orders[order.do](order) });
  } catch (error) {
    say({ code: error.code ?? null, message: String(error.message), data: error.data ?? null });
  }
}
await client.close();
say({ ok: "closed" });
process.exit(0);
