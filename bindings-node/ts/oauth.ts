/** How a client logs in. What is decided about it, and every default, is the core's; `docs/oauth.md` has them with their reasons. */

/**
 * Where logins are kept. Keys and values are texts; a value is one JSON document that only oncewire reads, and secret as a whole. What a
 * method throws makes oncewire forget no login.
 */
export interface LoginStore {
  /** What was saved last under this key, by whichever process; null if nothing was. */
  load(key: string): string | null | undefined | Promise<string | null | undefined>;
  /** Keeps the value, durably when this returns; null removes what is there. */
  save(key: string, value: string | null): void | Promise<void>;
  /** Takes the lock of this key, exclusive in all processes that share the store. Waits for it; one of a dead process is free. */
  lock(key: string): void | Promise<void>;
  /** Gives the lock back. It is no error if it was not held. */
  unlock(key: string): void | Promise<void>;
}

/** The identity provider of an enterprise, with which the person is logged in (enterprise-managed authorization). */
export interface Enterprise {
  /** Where it exchanges tokens. */
  tokenEndpoint: string;
  /** The client as it knows it. */
  clientId: string;
  /** Its secret there, if it has one. */
  clientSecret?: string;
  /** Gives the person's ID token. */
  idToken: () => string | Promise<string>;
}

/**
 * How a client logs in (OAuth 2.1, as MCP has it). With nothing more said, `oauth: {}`, it finds the authorization server, registers, opens
 * the browser, waits on the loopback interface for it to come back, stores the login in a file of the user alone, and refreshes it.
 */
export interface OAuth {
  /** The id of a client that was registered beforehand. Default: `clientMetadataUrl`, or the client registers itself. */
  clientId?: string;
  /** Its secret. It is sent to the issuer that it was first used with, or to `issuer`, and to no other. */
  clientSecret?: string;
  /** The https URL of a document that describes the client, its id where the authorization server takes such. */
  clientMetadataUrl?: string;
  /** The name under which the client registers itself. Default: oncewire. */
  clientName?: string;
  /** The authorization server to take, by its issuer. Default: the first one that the server names. */
  issuer?: string;
  /** The scopes to ask for. Default: what the server's challenge names, else what its metadata lists. */
  scopes?: readonly string[];
  /** Where the browser is sent after the login. Default: `http://127.0.0.1:PORT/callback`. */
  redirectUri?: string;
  /** The port of the default redirect URI. Default: a free one. */
  redirectPort?: number;
  /** Whose login, where one user has several with the same server. */
  account?: string;
  /** Where logins are kept: your own store, or in memory as long as the client lives. Default: a file of the user alone. */
  store?: LoginStore | "memory";
  /** The folder of the files of logins. Default: one of the user. */
  folder?: string;
  /** Shows the URL at which a person logs in. Default: opens the browser. */
  open?: (url: string) => void | Promise<void>;
  /**
   * Gives the URL that the browser was redirected to, whole; it gets the one at which the person logs in. Default: a listener on the
   * loopback interface.
   */
  receive?: (url: string) => string | Promise<string>;
  /** The client logs in for itself: no person, no browser. */
  clientCredentials?: boolean;
  /** A key in the place of `clientSecret`: PEM of PKCS #8, and its algorithm. */
  privateKey?: { pem: string; algorithm: "ES256" | "RS256" };
  /** The platform vouches for the client: gives its assertion, a JWT, each time a token is asked for. */
  workloadIdentity?: () => string | Promise<string>;
  /** The identity provider of an enterprise decides. */
  enterprise?: Enterprise;
  /** Bind tokens to a key of this login (RFC 9449). An authorization server that does not offer it is refused. Default: false. */
  dpop?: boolean;
  /** Calls wait for a person to log in, within their deadline; if not they fail at once, as `auth` and `not_executed`. Default: true. */
  waitForLogin?: boolean;
  /** How long a person has. Default: 300,000. */
  loginTimeout?: number;
  /** Issuers that are used although their metadata does not list PKCE with S256. */
  allowUnlistedPkce?: readonly string[];
}

interface Question {
  ask: string;
  url: string;
  key: string;
  value: string | null;
}

/** The names that the core has for what is plain. */
const PLAIN = {
  clientId: "client_id",
  clientSecret: "client_secret",
  clientMetadataUrl: "client_metadata_url",
  clientName: "client_name",
  issuer: "issuer",
  scopes: "scopes",
  redirectUri: "redirect_uri",
  redirectPort: "redirect_port",
  account: "account",
  folder: "folder",
  clientCredentials: "client_credentials",
  privateKey: "private_key",
  dpop: "dpop",
  waitForLogin: "wait_for_login",
  loginTimeout: "login_timeout_ms",
  allowUnlistedPkce: "allow_unlisted_pkce",
} as const;

/** What is plain of it, for the core. An option that is not known keeps its name: the core says so. */
export function givenOAuth(oauth: OAuth): Record<string, unknown> {
  const given: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(oauth)) {
    if (value === undefined) {
      continue;
    }
    if (name === "open" || name === "receive") {
      given[name] = true;
    } else if (name === "workloadIdentity") {
      given["workload_identity"] = true;
    } else if (name === "store") {
      given["store"] = typeof value === "object" ? "host" : value;
    } else if (name === "enterprise") {
      const { tokenEndpoint, clientId, clientSecret } = value as Enterprise;
      given["enterprise"] = { token_endpoint: tokenEndpoint, client_id: clientId, client_secret: clientSecret };
    } else {
      given[PLAIN[name as keyof typeof PLAIN] ?? name] = value;
    }
  }
  return given;
}

/** Answers what the core asks for. */
export async function answerOAuth(oauth: OAuth, question: Question): Promise<unknown> {
  const { ask, url, key, value } = question;
  const store = typeof oauth.store === "object" ? oauth.store : undefined;
  switch (ask) {
    case "open":
      await oauth.open?.(url);
      return null;
    case "receive":
      return oauth.receive?.(url);
    case "workload_identity":
      return oauth.workloadIdentity?.();
    case "id_token":
      return oauth.enterprise?.idToken();
    case "load":
      return (await store?.load(key)) ?? null;
    case "save":
      await store?.save(key, value);
      return null;
    case "lock":
      await store?.lock(key);
      return null;
    case "unlock":
      await store?.unlock(key);
      return null;
    default:
      throw new TypeError(`the addon asks ${ask}, which this version does not know`);
  }
}
