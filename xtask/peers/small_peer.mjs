// What every small Node server here offers: a quick tool, a slow tool, one of each other thing, and a ledger of what ran.
//
// The ledger is a file of JSON lines, one when a tool begins and one when it has ended, written by the tool itself.
import { appendFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

// The packages are not beside this file: they were installed into a folder of their own.
export const packages = createRequire(path.join(process.env.PEER_PACKAGES, "package.json"));

const { McpServer, ResourceTemplate } = packages("@modelcontextprotocol/sdk/server/mcp.js");
const { completable } = packages("@modelcontextprotocol/sdk/server/completable.js");
const { z } = packages("zod");

const NAMES = ["Ada", "Alan", "Grace"];

const write = (tool, event) => appendFileSync(process.env.PEER_LEDGER, `${JSON.stringify({ tool, event })}\n`);
const text = (said) => ({ content: [{ type: "text", text: said }] });
const note = (uri) => ({ contents: [{ uri: uri.href, text: "a note" }] });

export function smallPeer() {
    const server = new McpServer({ name: "small-peer", version: "1" }, { capabilities: { logging: {} } });
    // Neither says anything of itself, so either may change something.
    server.registerTool("quick", {}, () => {
        write("quick", "start");
        write("quick", "end");
        return text("quick ran");
    });
    server.registerTool("slow", { inputSchema: { seconds: z.number() } }, async ({ seconds }) => {
        write("slow", "start");
        await sleep(seconds * 1000);
        write("slow", "end");
        return text("slow ran");
    });
    server.registerResource("note", "peer://note", {}, note);
    server.registerResource("notes", new ResourceTemplate("peer://notes/{name}", { list: undefined }), {}, note);
    const name = completable(z.string(), (value) => NAMES.filter((known) => known.startsWith(value)));
    server.registerPrompt("greet", { argsSchema: { name } }, ({ name }) => ({
        messages: [{ role: "user", content: { type: "text", text: `Greet ${name}.` } }],
    }));
    return server;
}

// Whoever started us holds the other end of our standard input. When it is gone, however it went, so are we.
export function endWithParent() {
    for (const event of ["end", "close", "error"]) {
        process.stdin.on(event, () => process.exit(0));
    }
    process.stdin.resume();
}
