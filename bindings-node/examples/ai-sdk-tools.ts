/**
 * The tools of a server as a tool set of the AI SDK.
 *
 * A call whose outcome is not known does not throw: a loop that sees an error may call again. It becomes a result that says what is
 * known, in words for the model.
 */

import { dynamicTool, jsonSchema, type ToolSet } from "ai";
import { type Client, MayHaveExecutedError, type ToolCallOptions } from "oncewire";

/** All tools of the server, under their names. */
export async function tools(client: Client, options: ToolCallOptions = {}): Promise<ToolSet> {
  const { tools } = await client.listTools();
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [
      name,
      dynamicTool({
        description: description ?? name,
        inputSchema: jsonSchema(inputSchema),
        execute: async (input, { toolCallId, abortSignal }) => {
          try {
            const call = { name, arguments: (input ?? {}) as Record<string, unknown> };
            const aborted = abortSignal === undefined ? {} : { signal: abortSignal };
            return await client.callTool(call, { ...options, ...aborted, idempotencyKey: toolCallId });
          } catch (error) {
            if (error instanceof MayHaveExecutedError) {
              return { unknownOutcome: true, kind: error.kind, text: error.message };
            }
            throw error;
          }
        },
      }),
    ]),
  );
}
