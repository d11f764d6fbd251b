/** Redirect URIs: checks which may be registered, and which match a registered redirect URI. */

/** Limit of the length of all redirect URIs of one client together (specification 8). */
export const REDIRECT_BYTES_MAX = 4096;

/** Matches an http URI to loopback, the only http allowed. Captures host, port, and the rest. */
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::(\d{1,5}))?((?:[/?].*)?)$/;
const PORT_MAX = 65_535;
/** The characters of a URI (RFC 3986). `#` is missing: a redirect URI has no fragment. */
const PLAIN = /^[A-Za-z0-9\-._~:/?[\]@!$&'()*+,;=%]+$/;

/**
 * Parameters that the relay adds to the query of a redirect. A registered redirect URI must not
 * contain them, because the app could not tell which value is the relay's.
 */
const RESPONSE_PARAMS = ["code", "state", "iss", "error", "error_description"];

/** The reason why a redirect URI must not be registered. Undefined if it may be registered. */
export function redirectProblem(uri: string): string | undefined {
  if (!PLAIN.test(uri)) return "it has a fragment, or characters that are not allowed in a URI";
  if (!URL.canParse(uri)) return "it is not absolute";
  const { protocol, username, password, host, hostname, port, searchParams } = new URL(uri);
  const answer = RESPONSE_PARAMS.find((name) => searchParams.has(name));
  if (answer !== undefined) return `its query has "${answer}", which the relay adds itself`;
  if (port === "0") return "port 0 is not allowed";
  if (loopbackOf(uri)) return undefined;
  if (protocol !== "https:" || !uri.startsWith("https://")) {
    return "it must be https, or http to 127.0.0.1, [::1] or localhost";
  }
  if (username || password) return "it has a user name or a password";
  if (hostname.endsWith(".")) return "its host ends in a dot";
  if (host.includes("*")) return "its host has a wildcard, and redirect URIs must be exact";
  // The URL parser rewrites some hosts. Such a host is not the one that people read.
  return uri.slice("https://".length).startsWith(host) ? undefined : "its host is not canonical";
}

/**
 * True if a redirect URI is registered. An https URI must match exactly. A loopback URI may differ
 * in the port only (RFC 8252 7.3).
 */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (registered.includes(uri)) return true;
  const requested = loopbackOf(uri);
  if (!requested || !PLAIN.test(uri) || !URL.canParse(uri)) return false;
  return registered.map(loopbackOf).some((loopback) =>
    loopback?.host === requested.host && loopback.rest === requested.rest
  );
}

/** Adds parameters to the query of a redirect URI. */
export function redirectTo(uri: string, params: Readonly<Record<string, string | undefined>>) {
  const present = Object.entries(params).filter((pair): pair is [string, string] =>
    pair[1] !== undefined
  );
  return `${uri}${uri.includes("?") ? "&" : "?"}${new URLSearchParams(present)}`;
}

/** True if the URI leads to a program on the person's own computer. */
export function isLoopback(uri: string): boolean {
  return loopbackOf(uri) !== undefined;
}

function loopbackOf(uri: string): { host: string; rest: string } | undefined {
  const [, host, port = "80", rest = ""] = LOOPBACK.exec(uri) ?? [];
  if (host === undefined || Number(port) < 1 || Number(port) > PORT_MAX) return undefined;
  return { host, rest };
}
