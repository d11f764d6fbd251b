/**
 * The NATS client, loaded when a bus is opened: a daemon without one does not pay for it. Its
 * packages are in the CommonJS form, of which the bundler exports only the default.
 */

import { watchSockets } from "./link.ts";

export type { NatsConnection } from "@nats-io/transport-node";

/** They are CommonJS, of which a bundle exports only `default`. */
async function load() {
  const [transport, { default: { NodeTransport } }, jetstream, kv] = await Promise.all([
    import("@nats-io/transport-node"),
    import("@nats-io/transport-node/lib/node_transport.js"),
    import("@nats-io/jetstream"),
    import("@nats-io/kv"),
  ]);
  watchSockets(NodeTransport.prototype);
  return { transport: transport.default, jetstream: jetstream.default, kv: kv.default };
}

type Libraries = Awaited<ReturnType<typeof load>>;

/** Apart from the others: most daemons send no file for a while. */
export const objectStore = async () => (await import("@nats-io/obj")).default;

/** Apart from the others: a command makes and checks keys without a connection. */
export const keyLibrary = async () => (await import("@nats-io/nkeys")).default;

let loaded: Promise<Libraries> | undefined;

export function libraries(): Promise<Libraries> {
  return loaded ??= load();
}
