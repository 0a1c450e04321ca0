// npm fastmcp.
import { FastMCP } from "fastmcp";
import { z } from "zod";

import { endWithParent } from "./common.mjs";
import { TOOLS, run } from "./tools.mjs";

const server = new FastMCP({ name: "peer", version: "1.0.0" });
for (const [name, { seconds, ...about }] of Object.entries(TOOLS)) {
    const parameters = seconds ? { parameters: z.object({ seconds: z.number() }) } : {};
    server.addTool({ name, ...about, ...parameters, execute: (given) => run(name, given) });
}
await server.start({ transportType: "httpStream", httpStream: { port: Number(process.env.PORT), host: "127.0.0.1" } });

endWithParent();
