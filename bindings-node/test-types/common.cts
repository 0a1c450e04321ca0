/** The same types reach CommonJS. */

import oncewire = require("oncewire");
import transport = require("oncewire/transport");

async function use(): Promise<string | undefined> {
  const client = await oncewire.connect("http://127.0.0.1/mcp");
  const { content } = await client.callTool({ name: "poke" });
  return content[0]?.type;
}

export const adapter: transport.OncewireTransport = new transport.OncewireTransport("http://127.0.0.1/mcp", {
  listen: false,
});
// @ts-expect-error the official client says what it can do
new transport.OncewireTransport("http://127.0.0.1/mcp", { onRoots: () => ({ roots: [] }) });

export { use };
