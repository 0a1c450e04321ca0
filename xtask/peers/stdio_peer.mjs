// A small server on npm @modelcontextprotocol/sdk 1.x over standard input and output, to be put behind a bridge.
import { endWithParent, packages } from "./common.mjs";
import { smallPeer } from "./small_peer.mjs";

const { StdioServerTransport } = packages("@modelcontextprotocol/sdk/server/stdio.js");

await smallPeer().connect(new StdioServerTransport());
endWithParent();
