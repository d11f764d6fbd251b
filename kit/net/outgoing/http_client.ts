/** `fetch` for external servers: through the proxy of the environment, with its authorities. */

import { type Authorities, type Env, readAuthorities } from "./authorities.ts";
import { type Proxy, proxyFor } from "./proxies.ts";
import { explainTlsError } from "./tls_errors.ts";

type Fetch = (request: Request) => Promise<Response>;

/** A server could not be reached. The message has the reason, and never the address. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
}

/**
 * The proxy variables must already be removed from the environment of this process (`main.ts`):
 * Deno would apply them by its own rules, also on the loopback interface.
 */
export function outgoingFetch(env: Env, now: () => number): Fetch {
  let authorities: Authorities | undefined;
  const clients = new Map<string, Deno.HttpClient>();
  const clientFor = ({ protocol, hostname, port }: URL): Deno.HttpClient => {
    const tls = protocol === "https:";
    authorities ??= readAuthorities(env);
    const proxy = proxyFor(env, { tls, host: hostname, port: Number(port || (tls ? 443 : 80)) });
    const { pems } = authorities;
    return clients.getOrInsertComputed(proxy?.variable ?? "", () => makeClient(pems, proxy));
  };
  return async (request) => {
    const url = new URL(request.url);
    try {
      const client = clientFor(url);
      return await fetch(request, { client });
    } catch (error) {
      if (request.signal.aborted) throw error;
      const why = explainTlsError(error, { now: now(), faults: authorities?.faults });
      if (why === undefined) throw error;
      throw new UnreachableError(`${url.host} cannot be used: ${why}`, { cause: error });
    }
  };
}

/**
 * Uses only HTTP/1, where an aborted request ends its connection. A connection of HTTP/2 stays
 * open, and if it is frozen, every later request to its server fails as well.
 */
function makeClient(caCerts: readonly string[], proxy: Proxy | undefined): Deno.HttpClient {
  return Deno.createHttpClient({
    http2: false,
    poolMaxIdlePerHost: 1,
    ...(caCerts.length > 0 && { caCerts: [...caCerts] }),
    ...(proxy && { proxy: { url: proxy.url.href, ...basicAuth(proxy) } }),
  });
}

function basicAuth({ authorization }: Proxy) {
  if (authorization === undefined) return {};
  const bytes = Uint8Array.fromBase64(authorization.replace("Basic ", ""));
  const [username = "", ...password] = new TextDecoder().decode(bytes).split(":");
  return { basicAuth: { username, password: password.join(":") } };
}
