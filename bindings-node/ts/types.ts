/**
 * The data of MCP, in the shapes of the official client. Results are what `JSON.parse` makes of what the server sent: members that are
 * not named here are kept.
 */

/** `_meta`, and whatever else a server may add. */
export interface Extensible {
  _meta?: { [key: string]: unknown };
  [member: string]: unknown;
}

/** A JSON object. */
export type JsonObject = { [member: string]: unknown };

/** What the server, or a user, makes of a block. */
export interface Annotations {
  audience?: ("user" | "assistant")[];
  priority?: number;
  lastModified?: string;
  [member: string]: unknown;
}

export interface TextContent extends Extensible {
  type: "text";
  text: string;
  annotations?: Annotations;
}

export interface ImageContent extends Extensible {
  type: "image";
  data: string;
  mimeType: string;
  annotations?: Annotations;
}

export interface AudioContent extends Extensible {
  type: "audio";
  data: string;
  mimeType: string;
  annotations?: Annotations;
}

export interface ResourceLink extends Extensible {
  type: "resource_link";
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  annotations?: Annotations;
}

export interface EmbeddedResource extends Extensible {
  type: "resource";
  resource: ResourceContents;
  annotations?: Annotations;
}

/** One block of content. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource;

/** Text (`text`) or bytes in base64 (`blob`). */
export interface ResourceContents extends Extensible {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
}

/** The result of `tools/call`. A tool that failed says so in `isError`: that is an answer, not an error of the call. */
export interface CallToolResult extends Extensible {
  content: ContentBlock[];
  structuredContent?: JsonObject;
  isError?: boolean;
  /**
   * `complete`, or `task` where the server goes on with the call in a task, or what an extension that you declared has of its own. Where
   * the server does not say, it reads `complete` and is not enumerable: the result stays what the server sent.
   */
  resultType: string;
  /**
   * The task that the server goes on with: the call is not over, and `content` is empty. Only of servers to which you declared tasks in
   * `extensions`. Its members are those of the result itself, where the server puts them there; it is not enumerable then.
   */
  task?: JsonObject;
}

export interface ReadResourceResult extends Extensible {
  contents: ResourceContents[];
}

export interface PromptMessage extends Extensible {
  role: "user" | "assistant";
  content: ContentBlock;
}

export interface GetPromptResult extends Extensible {
  description?: string;
  messages: PromptMessage[];
}

export interface CompleteResult extends Extensible {
  completion: { values: string[]; total?: number; hasMore?: boolean; [member: string]: unknown };
}

export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
  [member: string]: unknown;
}

export interface Tool extends Extensible {
  name: string;
  title?: string;
  description?: string;
  inputSchema: JsonObject & { type: "object" };
  outputSchema?: JsonObject & { type: "object" };
  annotations?: ToolAnnotations;
}

export interface Resource extends Extensible {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  annotations?: Annotations;
  size?: number;
}

export interface ResourceTemplate extends Extensible {
  uriTemplate: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  annotations?: Annotations;
}

export interface Prompt extends Extensible {
  name: string;
  title?: string;
  description?: string;
  arguments?: { name: string; description?: string; required?: boolean; [member: string]: unknown }[];
}

/** A list: all pages of it, or the one page that was asked for. */
export interface Paged extends Extensible {
  /** Where the next page begins. After all pages were asked for, only there if a bound was hit. */
  nextCursor?: string;
}

export interface ListToolsResult extends Paged {
  tools: Tool[];
}

export interface ListResourcesResult extends Paged {
  resources: Resource[];
}

export interface ListResourceTemplatesResult extends Paged {
  resourceTemplates: ResourceTemplate[];
}

export interface ListPromptsResult extends Paged {
  prompts: Prompt[];
}

/** Name, version, … of the server. */
export interface Implementation {
  name: string;
  version: string;
  title?: string;
  [member: string]: unknown;
}

/** What the server offers. */
export interface ServerCapabilities {
  tools?: { listChanged?: boolean; [member: string]: unknown };
  resources?: { subscribe?: boolean; listChanged?: boolean; [member: string]: unknown };
  prompts?: { listChanged?: boolean; [member: string]: unknown };
  logging?: JsonObject;
  completions?: JsonObject;
  experimental?: JsonObject;
  [member: string]: unknown;
}

export type LoggingLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** The params of `sampling/createMessage`. */
export interface CreateMessageRequestParams extends Extensible {
  messages: { role: "user" | "assistant"; content: unknown; [member: string]: unknown }[];
  maxTokens: number;
  systemPrompt?: string;
}

export interface CreateMessageResult {
  role: "user" | "assistant";
  content: unknown;
  model: string;
  stopReason?: string;
  [member: string]: unknown;
}

/** The params of `elicitation/create`. */
export interface ElicitRequestParams extends Extensible {
  message: string;
  requestedSchema?: JsonObject;
}

export interface ElicitResult {
  action: "accept" | "decline" | "cancel";
  content?: JsonObject;
  [member: string]: unknown;
}

export interface ListRootsResult {
  roots: { uri: string; name?: string; [member: string]: unknown }[];
  [member: string]: unknown;
}

/** A notification of the server: `notifications/message`, `notifications/resources/updated`, …. */
export interface ServerNotification {
  /** The method, as on the wire. */
  method: string;
  /** The params, as the server sent them; null if there were none. */
  params: unknown;
  /** The generation of the session that it came on. */
  generation: number;
}
