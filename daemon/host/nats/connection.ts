/** One connection to one NATS server, encrypted unless its address allows otherwise. */

import { type Address, showAddress } from "./addresses.ts";
import { libraries, type NatsConnection } from "./libraries.ts";
import { inboxPrefix } from "./names.ts";

/** Proof of who connects: a seed of an nkey, or the path of a credentials file of an operator. */
export type BusCredentials = { readonly seed: string } | { readonly creds_path: string };

export interface ConnectionOptions {
  readonly credentials: BusCredentials;
  /** Certificates of authorities, in PEM; without it those of the system are trusted. */
  readonly ca_path?: string;
  readonly daemonId: string;
  /** Shown in the server's list of connections. */
  readonly name: string;
}

const CONNECT_MS_MAX = 10_000;
/** A connection that breaks without a word is noticed after two of these. */
const PING_MS = 15_000;
const PINGS_OUT_MAX = 2;

/** Connects once; the client never connects again by itself. Rejects with the client's error. */
export async function connectTo(
  address: Address,
  options: ConnectionOptions,
): Promise<NatsConnection> {
  const { transport } = await libraries();
  const { ca_path } = options;
  // The files are read for each connection: a renewed one is used without a restart.
  const ca = ca_path === undefined ? undefined : await Deno.readTextFile(ca_path);
  const tls = { host: address.host, ...(ca !== undefined && { ca }) };
  return await transport.connect({
    servers: showAddress(address),
    authenticator: await authenticator(options.credentials),
    name: options.name,
    inboxPrefix: inboxPrefix(options.daemonId),
    // A given authority means TLS. Without the property, TLS is used where the server offers it.
    ...((address.tls_required || ca !== undefined) && { tls }),
    reconnect: false,
    ignoreClusterUpdates: true,
    timeout: CONNECT_MS_MAX,
    pingInterval: PING_MS,
    maxPingOut: PINGS_OUT_MAX,
  });
}

async function authenticator(credentials: BusCredentials) {
  const { transport } = await libraries();
  const encoder = new TextEncoder();
  return "seed" in credentials
    ? transport.nkeyAuthenticator(encoder.encode(credentials.seed))
    : transport.credsAuthenticator(await Deno.readFile(credentials.creds_path));
}
