import { Client, check } from "./client.js";
import { Link } from "./link.js";
import { type ConnectOptions, split } from "./options.js";
import { optionsText } from "./raw-json.js";

/**
 * Makes a client of the server at this URL and, unless it is `lazy`, waits for its handshake.
 *
 * ```ts
 * await using client = await connect("http://127.0.0.1:8000/mcp");
 * const result = await client.callTool({ name: "create_draft", arguments: { to: "a" } }, { timeout: 30_000 });
 * ```
 */
export async function connect(url: string | URL, options: ConnectOptions = {}): Promise<Client> {
  const { hooks, plain } = split(options);
  const link = new Link(hooks);
  const names = Object.keys(hooks).filter((name) => name !== "onEvent" && name !== "oauth");
  const text = optionsText(plain);
  check(await link.call((id) => link.native.connect(id, String(url), text, names), { signal: options.signal }));
  return Client.over(link);
}
