// A small server on npm @modelcontextprotocol/sdk 1.x, to be put on a transport.
import { furnish, packages, text, write } from "./common.mjs";

const { McpServer, ResourceTemplate } = packages("@modelcontextprotocol/sdk/server/mcp.js");
const { completable } = packages("@modelcontextprotocol/sdk/server/completable.js");
const { z } = packages("zod");

const sdk = {
    ResourceTemplate,
    completable,
    z,
    object: (members) => members,
    signalOf: (extra) => extra.signal,
    tell: async (extra, progress, total) => {
        const progressToken = extra._meta?.progressToken;
        if (progressToken === undefined) return;
        await extra.sendNotification({
            method: "notifications/progress",
            params: { progressToken, progress, total },
        });
    },
};

export function smallPeer() {
    const server = new McpServer({ name: "small-peer", version: "1" }, { capabilities: { logging: {} } });
    let grown = 0;
    // It tells the change of its list by itself.
    server.registerTool("grow", {}, () => {
        write("grow", "start");
        server.registerTool(`grown_${(grown += 1)}`, {}, () => text("grown"));
        write("grow", "end");
        return text("grew");
    });
    return furnish(server, sdk);
}
