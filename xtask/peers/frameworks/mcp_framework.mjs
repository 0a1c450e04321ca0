// npm mcp-framework. PEER_MODE is its response mode: stream, or batch, which is plain JSON.
import { MCPServer, MCPTool } from "mcp-framework";
import { z } from "zod";

import { endWithParent } from "./common.mjs";
import { TOOLS, run } from "./tools.mjs";

const server = new MCPServer({
    name: "peer",
    version: "1.0.0",
    transport: {
        type: "http-stream",
        options: { port: Number(process.env.PORT), host: "127.0.0.1", endpoint: "/mcp", responseMode: process.env.PEER_MODE },
    },
});
for (const [name, { seconds, description, annotations }] of Object.entries(TOOLS)) {
    server.addTool(
        class extends MCPTool {
            name = name;
            description = description;
            annotations = annotations;
            schema = seconds ? { seconds: { type: z.number(), description: "how long" } } : {};
            async execute(given) {
                return run(name, given);
            }
        },
    );
}
endWithParent();
await server.start();
