// A small server on npm @modelcontextprotocol/server 2.x over standard input and output, to be put behind a bridge.
import { endWithParent, packages } from "./common.mjs";
import { smallPeer } from "./server_small_peer.mjs";

const { serveStdio } = packages("@modelcontextprotocol/server/stdio");

serveStdio(() => smallPeer((server) => server.sendToolListChanged()));

endWithParent();
