/** Which redirect URIs may be registered, and which one of a request is meant by which. */

/** Registered text in all, of one client (specification 8). */
export const REDIRECT_BYTES_MAX = 4096;

/** HTTP goes to this machine alone; whatever follows the port is compared as it was written. */
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::(\d{1,5}))?((?:[/?].*)?)$/;
const PORT_MAX = 65_535;
/** What URIs are written with (RFC 3986), but for `#`: a redirect URI has no fragment. */
const PLAIN = /^[A-Za-z0-9\-._~:/?[\]@!$&'()*+,;=%]+$/;

/** What the relay adds to a query: a second one of a name would leave open which one counts. */
const RESPONSE_PARAMS = ["code", "state", "iss", "error", "error_description"];

/** Why a client may not register a redirect URI; undefined when it may. */
export function redirectProblem(uri: string): string | undefined {
  if (!PLAIN.test(uri)) return "it has a fragment, or signs that no URI has";
  if (!URL.canParse(uri)) return "it is not absolute";
  const { protocol, username, password, host, hostname, port, searchParams } = new URL(uri);
  const answer = RESPONSE_PARAMS.find((name) => searchParams.has(name));
  if (answer !== undefined) return `its query has "${answer}", which the relay's answer adds`;
  if (port === "0") return "nothing listens on port 0";
  if (loopbackOf(uri)) return undefined;
  if (protocol !== "https:" || !uri.startsWith("https://")) {
    return "only https, and http to 127.0.0.1, [::1] or localhost, are redirected to";
  }
  if (username || password) return "it has a user";
  if (hostname.endsWith(".")) return "its host ends in a dot";
  if (host.includes("*")) return "its host is a pattern, and redirect URIs are exact";
  // The parser lets more pass than it gives back: a host that it rewrites is not what people read.
  return uri.slice("https://".length).startsWith(host) ? undefined : "its host is not canonical";
}

/** Exact for https; for loopback every component but the port is fixed (RFC 8252 7.3). */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (registered.includes(uri)) return true;
  const requested = loopbackOf(uri);
  if (!requested || !PLAIN.test(uri) || !URL.canParse(uri)) return false;
  return registered.map(loopbackOf).some((one) =>
    one?.host === requested.host && one.rest === requested.rest
  );
}

/** A redirect URI with parameters added to what its query holds already. */
export function redirectTo(uri: string, params: Readonly<Record<string, string | undefined>>) {
  const present = Object.entries(params).filter((pair): pair is [string, string] =>
    pair[1] !== undefined
  );
  return `${uri}${uri.includes("?") ? "&" : "?"}${new URLSearchParams(present)}`;
}

function loopbackOf(uri: string): { host: string; rest: string } | undefined {
  const [, host, port = "80", rest = ""] = LOOPBACK.exec(uri) ?? [];
  if (host === undefined || Number(port) < 1 || Number(port) > PORT_MAX) return undefined;
  return { host, rest };
}
