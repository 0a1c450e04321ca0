// What the small Node servers here have in common, whichever SDK they are written on: the ledger, what they offer, and when they end.
//
// The ledger is a file of JSON lines, one when a tool begins and one when it has ended, written by the tool itself. A tool that its
// server stops writes no second line.
import { appendFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

// The packages are not beside this file: they were installed into a folder of their own.
export const packages = createRequire(path.join(process.env.PEER_PACKAGES, "package.json"));

const NAMES = ["Ada", "Alan", "Grace"];

export const write = (tool, event) =>
    appendFileSync(process.env.PEER_LEDGER, `${JSON.stringify({ tool, event })}\n`);
export const text = (said) => ({ content: [{ type: "text", text: said }] });

// None of the tools says anything of itself, so each may change something. `sdk` is what differs between the versions of the SDK:
// its classes, `object` for a schema of these members, `signalOf` and `tell` for the context of a call.
export function furnish(server, { ResourceTemplate, completable, z, object, signalOf, tell }) {
    server.registerTool("quick", {}, () => {
        write("quick", "start");
        write("quick", "end");
        return text("quick ran");
    });
    server.registerTool("slow", { inputSchema: object({ seconds: z.number() }) }, async ({ seconds }, context) => {
        write("slow", "start");
        await sleep(seconds * 1000, undefined, { signal: signalOf(context) });
        write("slow", "end");
        return text("slow ran");
    });
    server.registerTool("report", {}, async (context) => {
        write("report", "start");
        for (const progress of [1, 2, 3]) await tell(context, progress, 3);
        write("report", "end");
        return text("reported");
    });
    const note = (uri) => ({ contents: [{ uri: uri.href, text: "a note" }] });
    server.registerResource("note", "peer://note", {}, note);
    server.registerResource("notes", new ResourceTemplate("peer://notes/{name}", { list: undefined }), {}, note);
    const name = completable(z.string(), (value) => NAMES.filter((known) => known.startsWith(value)));
    server.registerPrompt("greet", { argsSchema: object({ name }) }, ({ name }) => ({
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
