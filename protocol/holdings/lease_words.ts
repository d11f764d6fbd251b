/** Words for leases, and sentences for people on who holds a lease and who uses a port. */

import type { WireResponse } from "kit/http/client.ts";
import type { whoUsesPort } from "protocol/holdings/leases.ts";

type PortUse = WireResponse<typeof whoUsesPort>;
type Lease = NonNullable<PortUse["lease"]>;
type Subject = Pick<Lease, "resource" | "name">;

/** The variable of a lease in the environment of a spawned agent begins with it. */
const VARIABLE_PREFIX = "MESH_LEASE_";

/** The words of a lease, as a person types them: `port web`, `db`. */
export function leaseWords({ resource, name }: Subject): string {
  return name === null ? resource : `${resource} ${name}`;
}

/** The lease that one word names: `port:web`, `db`. */
export function readLeaseWords(words: string): Subject {
  const [resource = "", name = null] = words.split(":");
  return { resource, name };
}

/** The variable of a lease: `MESH_LEASE_PORT_WEB`. */
export function leaseVariable(subject: Subject): string {
  return VARIABLE_PREFIX + leaseWords(subject).toUpperCase().replaceAll(/[^A-Z0-9]/g, "_");
}

/** The holder by its name, or by the process without a peer. */
export function leaseHolder(peer_name: string | undefined, pid: number | null): string {
  return peer_name ?? (pid === null ? "an agent that is starting" : `process ${pid}`);
}

/** The holder, and the process with whose end the lease ends. */
export function leaseSentence(lease: Lease): string {
  const { holder, peer_id, pid } = lease;
  const end = peer_id === null ? "it ends" : `its process ${pid} ends`;
  return `${leaseWords(lease)}: held by ${holder} until ${end}`;
}

/** The lease of a port, and the processes that listen there. */
export function portSentences({ port, lease, listeners, others }: PortUse): string[] {
  const used = `${port} is used by`;
  const sentences = [
    ...lease ? [`${port} is leased to ${lease.holder} as ${leaseWords(lease)}`] : [],
    ...listeners.map(({ pid, command, name }) => {
      const by = name === null ? "" : `, started by ${name}`;
      return `${used} process ${pid}${by}: ${command ?? "unknown program"}`;
    }),
    ...others > 0 ? [`${used} programs that mesh cannot see, such as those of other users`] : [],
  ];
  return sentences.length > 0 ? sentences : [`Nobody uses ${port}`];
}
