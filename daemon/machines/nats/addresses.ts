/** The servers that a configured address names, and whether each connection must be encrypted. */

import { hideCredentials } from "kit/core/text.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
  /** The connection fails where the server does not offer TLS. */
  readonly tls_required: boolean;
}

const DEFAULT_PORT = 4222;
const FORM = /^(nats|tls):\/\/(\[[0-9a-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?\/?(\?insecure)?$/i;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i;

/**
 * Parses addresses separated by commas: `tls://host:port`, or `nats://host:port`, which means TLS
 * as well, except on the loopback interface and where the address ends with `?insecure`. Throws a
 * `TypeError` with a sentence for people.
 */
export function parseAddresses(url: string): Address[] {
  return url.split(",").map((part) => parseAddress(part.trim()));
}

function parseAddress(text: string): Address {
  if (/^\w+:\/\/[^/]*@/.test(text)) {
    throw new TypeError(
      "The address of the bus must not hold a name or a password; use a credentials file or a key",
    );
  }
  const [, scheme, name, digits, insecure] = FORM.exec(text) ?? [];
  const port = Number(digits ?? DEFAULT_PORT);
  if (!scheme || !name || port < 1 || port > 65_535) {
    throw new TypeError(`Not an address of a bus: "${hideCredentials(text)}"; use tls://host:port`);
  }
  if (insecure && scheme.toLowerCase() === "tls") {
    throw new TypeError(`"${text}" asks for TLS and for no TLS; use nats:// with ?insecure`);
  }
  const host = name.replace(/^\[|\]$/g, "");
  const may_be_plain = scheme.toLowerCase() === "nats" && (LOOPBACK.test(host) || !!insecure);
  return { host, port, tls_required: !may_be_plain };
}

/** The address as people write it. */
export function showAddress({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
