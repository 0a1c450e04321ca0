// npm @mastra/mcp.
import { createTool } from "@mastra/core/tools";
import { MCPServer } from "@mastra/mcp";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { z } from "zod";

import { endWithParent } from "./common.mjs";
import { TOOLS, run } from "./tools.mjs";

const tools = {};
for (const [name, { seconds, description, annotations }] of Object.entries(TOOLS)) {
    const inputSchema = seconds ? z.object({ seconds: z.number() }) : z.object({});
    const execute = (given) => run(name, given.context ?? given);
    tools[name] = createTool({ id: name, description, inputSchema, execute, mcp: { annotations } });
}
const server = new MCPServer({ name: "peer", version: "1.0.0", tools });

createServer(async (request, response) => {
    await server.startHTTP({
        url: new URL(request.url, `http://${request.headers.host}`),
        httpPath: "/mcp",
        req: request,
        res: response,
        options: { sessionIdGenerator: () => randomUUID() },
    });
}).listen(Number(process.env.PORT), "127.0.0.1");

endWithParent();
