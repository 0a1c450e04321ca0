import { Client, check } from "./client.js";
import { Link } from "./link.js";
import { type ConnectOptions, type ServerCommand, split } from "./options.js";
import { optionsText } from "./raw-json.js";

/**
 * Makes a client of the server at this URL and, unless it is `lazy`, waits for its handshake.
 *
 * ```ts
 * await using client = await connect("http://127.0.0.1:8000/mcp");
 * const result = await client.callTool({ name: "create_draft", arguments: { to: "a" } }, { timeout: 30_000 });
 * ```
 */
export function connect(url: string | URL, options: ConnectOptions = {}): Promise<Client> {
  return begin(options, (link, id, text, names) => link.native.connect(id, String(url), text, names));
}

/**
 * Starts a server by this command, makes a client of it over its stdin and stdout and, unless it is `lazy`, waits for its handshake.
 *
 * The process is the session: a lost one is replaced by a new process, and `close()` ends it with its children. Options of HTTP that it
 * would never hear of (`token`, `oauth`, `headers`, certificates, `proxy`) are refused.
 *
 * ```ts
 * await using client = await connectStdio({ command: "npx", args: ["-y", "@modelcontextprotocol/server-everything"] });
 * ```
 */
export function connectStdio(command: ServerCommand, options: ConnectOptions = {}): Promise<Client> {
  const described = JSON.stringify(command);
  return begin(options, (link, id, text, names) => link.native.connectStdio(id, described, text, names));
}

async function begin(
  options: ConnectOptions,
  start: (link: Link, id: number, text: string, names: string[]) => void,
): Promise<Client> {
  const { hooks, plain } = split(options);
  const link = new Link(hooks);
  const names = Object.keys(hooks).filter((name) => name !== "onEvent" && name !== "oauth");
  const text = optionsText(plain);
  check(await link.call((id) => start(link, id, text, names), { signal: options.signal }));
  return Client.over(link);
}
