// Preloaded into server-everything: writes a line to a file when a tool begins to run and when it has ended, from inside
// the server, so that what the client says of a call can be held against what the server did.
import { appendFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const ledger = process.env.PEER_LEDGER;
const server = process.env.PEER_SERVER;

// The same module instance that the server will import: resolved from the server's own file, as an ES module.
const packages = createRequire(server).resolve.paths("@modelcontextprotocol/sdk");
const sdk = packages.map((folder) => path.join(folder, "@modelcontextprotocol/sdk/dist/esm/server/mcp.js"));
let McpServer;
for (const file of sdk) {
    try {
        ({ McpServer } = await import(pathToFileURL(file).href));
        break;
    } catch (error) {
        if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    }
}
if (!McpServer) throw new Error("everything_ledger.mjs: the SDK of the server was not found");

const write = (tool, event) => appendFileSync(ledger, `${JSON.stringify({ tool, event })}\n`);

const { registerTool } = McpServer.prototype;
McpServer.prototype.registerTool = function (name, config, handler) {
    return registerTool.call(this, name, config, async (...args) => {
        write(name, "start");
        try {
            return await handler(...args);
        } finally {
            write(name, "end");
        }
    });
};
