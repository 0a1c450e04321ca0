// npm @hono/mcp on npm @hono/node-server: one transport for each session, which is how its users keep more than one client.
import { serve } from "@hono/node-server";
import { StreamableHTTPTransport } from "@hono/mcp";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Hono } from "hono";
import { randomUUID } from "node:crypto";
import { z } from "zod";

import { endWithParent, text } from "./common.mjs";
import { TOOLS, run } from "./tools.mjs";

const sessions = new Map();

async function open() {
    const server = new McpServer({ name: "peer", version: "1.0.0" });
    for (const [name, { seconds, ...about }] of Object.entries(TOOLS)) {
        const config = seconds ? { ...about, inputSchema: { seconds: z.number() } } : about;
        server.registerTool(name, config, async (given) => text(await run(name, given)));
    }
    const transport = new StreamableHTTPTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => void sessions.set(id, transport),
        onsessionclosed: (id) => void sessions.delete(id),
    });
    await server.connect(transport);
    return transport;
}

const app = new Hono();
app.all("/mcp", async (context) => {
    const id = context.req.header("mcp-session-id");
    const transport = id === undefined ? await open() : sessions.get(id);
    if (transport) return transport.handleRequest(context);
    const error = { jsonrpc: "2.0", error: { code: -32001, message: "Session not found" }, id: null };
    return context.json(error, 404);
});
serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: "127.0.0.1" });

endWithParent();
