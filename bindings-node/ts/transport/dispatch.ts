/** From a request of the official client to a method of ours, so that the core knows what it may repeat. */

import type { Client } from "../client.js";
import type { CallOptions } from "../options.js";
import type { LoggingLevel } from "../types.js";
import type { JsonRpcRequest } from "./messages.js";

/** Carries the request out; what it gives is the `result` of the answer. */
export async function dispatch(client: Client, request: JsonRpcRequest, options: CallOptions): Promise<object> {
  // The shapes are those of the specification on both sides; the official client has checked them.
  const params = (withoutToken(request.params) ?? {}) as never;
  switch (request.method) {
    case "tools/call":
      return client.callTool(params, options);
    case "tools/list":
      return client.listTools(params, options);
    case "resources/list":
      return client.listResources(params, options);
    case "resources/templates/list":
      return client.listResourceTemplates(params, options);
    case "resources/read":
      return client.readResource(params, options);
    case "prompts/list":
      return client.listPrompts(params, options);
    case "prompts/get":
      return client.getPrompt(params, options);
    case "completion/complete":
      return client.complete(params, options);
    case "resources/subscribe":
      return empty(client.subscribe(params, options));
    case "resources/unsubscribe":
      return empty(client.unsubscribe(params, options));
    case "logging/setLevel":
      return empty(client.setLogLevel((params as { level: LoggingLevel }).level, options));
    case "ping":
      return empty(client.ping(options));
    default: {
      const given = withoutToken(request.params);
      const raw = given === undefined ? { method: request.method } : { method: request.method, params: given };
      return client.request<object>(raw, options);
    }
  }
}

async function empty(done: Promise<void>): Promise<object> {
  await done;
  return {};
}

/** Each attempt of the core has a progress token of its own. */
function withoutToken(params: JsonRpcRequest["params"]): JsonRpcRequest["params"] {
  if (params?._meta?.progressToken === undefined) {
    return params;
  }
  const { _meta, ...others } = params;
  const { progressToken: _, ...meta } = _meta;
  return Object.keys(meta).length > 0 ? { ...others, _meta: meta } : others;
}
