/** The HTTP proxy of the environment for a server: `HTTPS_PROXY`, `NO_PROXY` and the like. */

import { AUTHORITY_VARIABLES, type Env } from "kit/net/outgoing/authorities.ts";
import { isWithin, parseIpAddress, parseRange } from "kit/net/ip_address.ts";

/** The variables that decide how this process reaches external servers. */
export const OUTGOING_VARIABLES: readonly string[] = [
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"].flatMap(
    (name) => [name, name.toLowerCase()],
  ),
  ...AUTHORITY_VARIABLES,
];

export interface Proxy {
  /** The address of the proxy, without user name and password. */
  readonly url: URL;
  /** The value of `Proxy-Authorization`. */
  readonly authorization?: string;
  /** The name of the variable that it comes from. */
  readonly variable: string;
}

const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[?::1\]?|\[?::ffff:7f.*\]?)$/i;

/**
 * The proxy for a server; undefined for a direct connection: if no variable is set, on the loopback
 * interface, and for hosts in `NO_PROXY`. Lower case takes precedence over upper case, as in curl.
 * Throws a `TypeError` that never repeats the value, which may hold a password.
 */
export function proxyFor(
  env: Env,
  { tls, host, port }: { readonly tls: boolean; readonly host: string; readonly port: number },
): Proxy | undefined {
  const names = [tls ? "HTTPS_PROXY" : "HTTP_PROXY", "ALL_PROXY"];
  const variable = names.flatMap((name) => [name.toLowerCase(), name]).find((name) => env[name]);
  if (variable === undefined) return undefined;
  const name = host.replace(/^\[|\]$/g, "").replace(/\.$/, "").toLowerCase();
  const exceptions = env["no_proxy"] || env["NO_PROXY"] || "";
  if (LOOPBACK.test(name) || isExcepted(exceptions, name, port)) return undefined;
  return parseProxy(variable, env[variable] ?? "");
}

function parseProxy(variable: string, value: string): Proxy {
  const text = /^[a-z][\w+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url?.hostname || !/^https?:$/.test(url.protocol)) {
    throw new TypeError(
      `${variable} does not name an HTTP proxy; use http://HOST:PORT, or except the server by ` +
        "NO_PROXY",
    );
  }
  const { username, password } = url;
  url.username = url.password = "";
  if (!username && !password) return { url, variable };
  const bytes = new TextEncoder().encode(`${decode(username)}:${decode(password)}`);
  return { url, variable, authorization: `Basic ${bytes.toBase64()}` };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // The password has an unescaped percent sign.
  }
}

/** True if a list names a host: `*`, `name`, `.suffix`, `10.0.0.0/8`, with or without a port. */
function isExcepted(list: string, host: string, port: number): boolean {
  return list.toLowerCase().split(/[\s,]+/).filter(Boolean).some((entry) => {
    if (entry === "*") return true;
    const [, bracketed, plain, given] =
      /^(?:\[(.+)\]|([^:]+|[0-9a-f:]+(?:\/\d+)?))(?::(\d+))?$/.exec(entry) ?? [];
    if (given !== undefined && Number(given) !== port) return false;
    const name = (bracketed ?? plain ?? entry).replace(/^\*?\./, "").replace(/\.$/, "");
    if (name.includes("/")) return isInNetwork(host, name);
    return host === name || host.endsWith(`.${name}`);
  });
}

function isInNetwork(host: string, network: string): boolean {
  const address = parseIpAddress(host);
  const range = parseRange(network);
  return address !== undefined && range !== undefined && isWithin(address, range);
}
