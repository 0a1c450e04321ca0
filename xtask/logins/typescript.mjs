// One process of `cargo xtask logins` on npm @modelcontextprotocol/client: `node typescript.mjs login|use URL FOLDER`, with its packages in
// MODULES. It says `ready`, waits for a line, does it, and says `ok`, `login: why` if a person would have to log in, or `failed: why`.
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const require = createRequire(join(process.env.MODULES, "package.json"));
const entry = require.resolve("@modelcontextprotocol/client").replace(/\.cjs$/, ".mjs");
const { Client, StreamableHTTPClientTransport } = await import(pathToFileURL(entry).href);

const [mode, url, folder] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const path = join(folder, "login.json");

// As careful as a file can be written without a lock: whole, or not at all.
function read() {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return {};
    throw error;
  }
}
function change(members) {
  const unfinished = `${path}.${randomBytes(8).toString("hex")}`;
  writeFileSync(unfinished, JSON.stringify({ ...read(), ...members }), { mode: 0o600, flush: true });
  renameSync(unfinished, path);
}

let asked;
const provider = {
  redirectUrl: "http://127.0.0.1:1234/callback",
  clientMetadata: {
    client_name: "logins",
    redirect_uris: ["http://127.0.0.1:1234/callback"],
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  },
  state: () => "s",
  clientInformation: () => read().client,
  saveClientInformation: (client) => change({ client }),
  tokens: () => read().tokens,
  saveTokens: (tokens) => change({ tokens }),
  redirectToAuthorization: (to) => void (asked = to),
  saveCodeVerifier: (verifier) => change({ verifier }),
  codeVerifier: () => read().verifier,
  // What the documentation of the interface asks for.
  invalidateCredentials: (scope) => {
    const gone = { all: ["client", "tokens", "verifier"], client: ["client"], tokens: ["tokens"], verifier: ["verifier"] };
    change(Object.fromEntries((gone[scope] ?? []).map((name) => [name, undefined])));
  },
};

async function connect() {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  const client = new Client({ name: "logins", version: "1.0.0" });
  try {
    await client.connect(transport);
    const result = await client.callTool({ name: "peek", arguments: {} });
    if (result.isError) throw new Error("the tool failed");
    await client.close();
  } catch (error) {
    return { transport, error };
  }
  return {};
}

process.stdout.write("ready\n");
await new Promise((resolve) => createInterface({ input: process.stdin }).once("line", resolve));

let { transport, error } = await connect();
if (error && asked && mode === "login") {
  const redirect = await fetch(asked, { redirect: "manual" });
  await transport.finishAuth(new URL(redirect.headers.get("location")).searchParams);
  ({ error } = await connect());
}
const why = String(error?.message ?? error).replaceAll("\n", " ");
process.stdout.write(!error ? "ok\n" : asked ? `login: ${why}\n` : `failed: ${why}\n`);
process.exit(0);
