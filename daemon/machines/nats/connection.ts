/** One connection to one NATS server, encrypted unless its address allows otherwise. */

import { systemClock } from "kit/core/clock.ts";
import { UnreachableError } from "kit/net/outgoing/http_client.ts";
import { OutgoingSockets } from "kit/net/outgoing/sockets.ts";
import type { Env } from "../../host/paths.ts";
import { type Address, showAddress } from "./addresses.ts";
import { BusLink } from "./link.ts";
import { libraries, type NatsConnection } from "./libraries.ts";
import { inboxPrefix } from "./names.ts";

/** Proof of who connects: a seed of an nkey, or the path of a credentials file of an operator. */
export type BusCredentials = { readonly seed: string } | { readonly creds_path: string };

export interface ConnectionOptions {
  readonly credentials: BusCredentials;
  /** Certificates of authorities, in PEM; without it, the authorities of the system are trusted. */
  readonly ca_path?: string;
  readonly daemonId: string;
  /** Shown in the server's list of connections. */
  readonly name: string;
  /** Interval of pings, which prove that the server is there. */
  readonly ping_ms?: number;
  /** Environment that names proxies and extra certificate authorities (kit/net/outgoing/). */
  readonly env?: Env;
  readonly connect_ms_max?: number;
}

const CONNECT_MS_MAX = 10_000;
/** Interval of pings. A frozen connection is noticed after three of these intervals. */
export const PING_MS = 10_000;
const PINGS_OUT_MAX = 2;

/**
 * Connects once; the client never reconnects by itself. Rejects with the client's error. The link
 * can end the connection at any time, also during the handshake.
 */
export async function connectTo(
  address: Address,
  options: ConnectionOptions,
  link = new BusLink(systemClock),
): Promise<NatsConnection> {
  try {
    return await Promise.race([connect(address, options, link), link.ended]);
  } catch (error) {
    link.destroy(); // After a handshake that timed out, the client leaves the socket open.
    const why = await explain(error, address, options);
    if (why === undefined) throw error;
    throw new UnreachableError(why, { cause: error });
  }
}

async function explain(
  error: unknown,
  { host, port }: Address,
  options: ConnectionOptions,
): Promise<string | undefined> {
  const sockets = new OutgoingSockets({ env: options.env ?? {}, clock: systemClock });
  // The server sends its `INFO` before TLS begins.
  const open = async () => {
    const socket = await sockets.open({ host, port }, { tls: true });
    await new Promise((resolve) => socket.once("data", resolve).once("close", resolve));
    return socket;
  };
  return await sockets.explain(error, open, host);
}

async function connect(
  address: Address,
  options: ConnectionOptions,
  link: BusLink,
): Promise<NatsConnection> {
  const { transport } = await libraries();
  const { ca_path } = options;
  // The files are read for each connection: a renewed certificate is used without a restart.
  const sockets = new OutgoingSockets({ env: options.env ?? {}, clock: systemClock });
  const own_ca = ca_path === undefined ? undefined : await Deno.readTextFile(ca_path);
  const ca = own_ca ?? (address.tls_required ? sockets.trusted()?.join("\n") : undefined);
  const isProxied = sockets.isProxied(address, { tls: true });
  if (isProxied) link.dial = (target) => sockets.open(target, { tls: true });
  const tls = { host: address.host, ...(ca !== undefined && { ca }) };
  const client_options = {
    link,
    servers: showAddress(address),
    authenticator: await authenticator(options.credentials),
    name: options.name,
    inboxPrefix: inboxPrefix(options.daemonId),
    // A given authority means TLS. Without the property, TLS is used where the server offers it.
    ...((address.tls_required || ca !== undefined) && { tls }),
    reconnect: false,
    // With a proxy, the proxy resolves host names.
    ...(isProxied && { resolve: false }),
    ignoreClusterUpdates: true,
    timeout: options.connect_ms_max ?? CONNECT_MS_MAX,
    pingInterval: options.ping_ms ?? PING_MS,
    maxPingOut: PINGS_OUT_MAX,
  };
  return await transport.connect(client_options);
}

async function authenticator(credentials: BusCredentials) {
  const { transport } = await libraries();
  const encoder = new TextEncoder();
  return "seed" in credentials
    ? transport.nkeyAuthenticator(encoder.encode(credentials.seed))
    : transport.credsAuthenticator(await Deno.readFile(credentials.creds_path));
}
