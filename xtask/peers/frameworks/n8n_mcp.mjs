// npm n8n-mcp, with a ledger: its tools only read, and say so. The one that is called slow here is slowed down.
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { endWithParent, write } from "./common.mjs";

// It locks a client out after 20 failed requests in 15 minutes, and counts those to a session that it does not know: 16 callers after a
// restart come near that.
Object.assign(process.env, {
    AUTH_RATE_LIMIT_MAX: "1000",
    AUTH_TOKEN: "0123456789abcdef0123456789abcdef",
    HOST: "127.0.0.1",
    MCP_MODE: "http",
    N8N_MCP_TELEMETRY_DISABLED: "true",
    NODE_ENV: "production",
});
// The package exports neither of them: it is a program, not a library.
const load = (file) => createRequire(import.meta.url)(path.join(process.env.PEER_PACKAGES, "node_modules/n8n-mcp/dist", file));
const { N8NDocumentationMCPServer } = load("mcp/server.js");
const { SingleSessionHTTPServer } = load("http-server-single-session.js");

const { executeTool } = N8NDocumentationMCPServer.prototype;
N8NDocumentationMCPServer.prototype.executeTool = async function (name, given) {
    write(name, "start");
    if (name === "search_nodes") await sleep(Number(process.env.PEER_MODE) * 1000);
    const result = await executeTool.call(this, name, given);
    write(name, "end");
    return result;
};
await new SingleSessionHTTPServer().start();

endWithParent();
