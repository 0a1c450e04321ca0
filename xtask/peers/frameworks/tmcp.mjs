// npm tmcp with npm @tmcp/transport-http on Node's own server.
import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";
import { HttpTransport } from "@tmcp/transport-http";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { McpServer } from "tmcp";
import { z } from "zod";

import { endWithParent, text } from "./common.mjs";
import { TOOLS, run } from "./tools.mjs";

const server = new McpServer(
    { name: "peer", version: "1.0.0", description: "a peer" },
    { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: { listChanged: true } } },
);
for (const [name, { seconds, ...about }] of Object.entries(TOOLS)) {
    const schema = seconds ? { schema: z.object({ seconds: z.number() }) } : {};
    server.tool({ name, ...about, ...schema }, async (given) => text(await run(name, given)));
}
const transport = new HttpTransport(server, { path: "/mcp" });

// From Node's requests to those of the web, and back.
createServer(async (request, response) => {
    const bodiless = request.method === "GET" || request.method === "DELETE";
    const asked = new Request(`http://${request.headers.host}${request.url}`, {
        method: request.method,
        headers: request.headers,
        ...(bodiless ? {} : { body: Readable.toWeb(request), duplex: "half" }),
    });
    const answer = (await transport.respond(asked)) ?? new Response(null, { status: 404 });
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.flushHeaders();
    if (answer.body) Readable.fromWeb(answer.body).on("error", () => response.destroy()).pipe(response);
    else response.end();
}).listen(Number(process.env.PORT), "127.0.0.1");

endWithParent();
