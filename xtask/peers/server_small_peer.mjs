// A small server on npm @modelcontextprotocol/server 2.x, to be put on a transport.
import { furnish, packages, text, write } from "./common.mjs";

const library = packages("@modelcontextprotocol/server");
const { McpServer, acceptedContent, inputRequired } = library;
const { z } = packages("zod");

const sdk = {
    ...library,
    z,
    object: (members) => z.object(members),
    signalOf: (context) => context.mcpReq.signal,
    tell: async (context, progress, total) => {
        const progressToken = context.mcpReq._meta?.progressToken;
        if (progressToken === undefined) return;
        await context.mcpReq.notify({
            method: "notifications/progress",
            params: { progressToken, progress, total },
        });
    },
};

// There may be many of them in one process, one for each request.
let grown = 0;

// `changed` tells whoever listens that there is a new tool.
export function smallPeer(changed) {
    const server = new McpServer({ name: "small-peer", version: "1" }, { capabilities: { logging: {} } });
    for (let index = 1; index <= grown; index += 1) {
        server.registerTool(`grown_${index}`, {}, () => text("grown"));
    }
    server.registerTool("grow", {}, () => {
        write("grow", "start");
        grown += 1;
        changed(server);
        write("grow", "end");
        return text("grew");
    });
    server.registerTool("ask", {}, (context) => {
        const asked = z.object({ name: z.string() });
        const answer = acceptedContent(context.mcpReq.inputResponses, "who", asked);
        if (answer === undefined) {
            const who = inputRequired.elicit({ message: "Who are you?", requestedSchema: asked });
            return inputRequired({ inputRequests: { who }, requestState: "asked once" });
        }
        write("ask", "start");
        write("ask", "end");
        return text(`hello ${answer.name}, ${context.mcpReq.requestState()}`);
    });
    return furnish(server, sdk);
}
