// A small server on npm @modelcontextprotocol/sdk 1.x over Streamable HTTP. PEER_MODE says how:
//
// - sessions: one transport for each session, the answers as streams, 404 for a session that it does not know;
// - json: the same, the answers as plain JSON;
// - events: the same with an event store: a stream that was cut can be read on;
// - bare: one transport for the whole process.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

import { endWithParent, packages } from "./common.mjs";
import { smallPeer } from "./small_peer.mjs";

const { StreamableHTTPServerTransport } = packages("@modelcontextprotocol/sdk/server/streamableHttp.js");

const mode = process.env.PEER_MODE;

class Events {
    #events = [];

    async storeEvent(streamId, message) {
        return `${streamId}_${this.#events.push({ streamId, message }) - 1}`;
    }

    async getStreamIdForEventId(eventId) {
        return this.#events[this.#position(eventId)]?.streamId;
    }

    async replayEventsAfter(lastEventId, { send }) {
        const position = this.#position(lastEventId);
        const streamId = this.#events[position]?.streamId;
        if (streamId === undefined) throw new Error("no such event");
        for (const [index, event] of this.#events.entries()) {
            // An event without a message primes the client, and tells it nothing.
            if (index > position && event.streamId === streamId && event.message.jsonrpc) {
                await send(`${streamId}_${index}`, event.message);
            }
        }
        return streamId;
    }

    #position(eventId) {
        return Number(eventId.slice(eventId.lastIndexOf("_") + 1));
    }
}

const sessions = new Map();

async function open() {
    const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        enableJsonResponse: mode === "json",
        ...(mode === "events" ? { eventStore: new Events(), retryInterval: 500 } : {}),
        onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    transport.onclose = () => sessions.delete(transport.sessionId);
    await smallPeer().connect(transport);
    return transport;
}

const only = mode === "bare" ? await open() : undefined;

function unknown(response) {
    const error = { jsonrpc: "2.0", error: { code: -32001, message: "Session not found" }, id: null };
    response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify(error));
}

createServer(async (request, response) => {
    const id = request.headers["mcp-session-id"];
    const transport = only ?? (id === undefined ? await open() : sessions.get(id));
    if (transport) await transport.handleRequest(request, response);
    else unknown(response);
}).listen(Number(process.env.PORT), "127.0.0.1");

endWithParent();
