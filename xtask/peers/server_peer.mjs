// A small server on npm @modelcontextprotocol/server 2.x over Streamable HTTP. PEER_MODE says which eras it speaks:
//
// - both: that of 2026-07-28, and for clients that begin with a handshake the one before, without sessions;
// - modern: that of 2026-07-28 alone.
import { createServer } from "node:http";

import { endWithParent, packages } from "./common.mjs";
import { smallPeer } from "./server_small_peer.mjs";

const { createMcpHandler } = packages("@modelcontextprotocol/server");
const { toNodeHandler } = packages("@modelcontextprotocol/node");

const handler = createMcpHandler(() => smallPeer(() => handler.notify.toolsChanged()), {
    legacy: process.env.PEER_MODE === "modern" ? "reject" : "stateless",
});

createServer(toNodeHandler(handler)).listen(Number(process.env.PORT), "127.0.0.1");

endWithParent();
