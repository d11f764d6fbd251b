/** The routes of leases: what one process has for itself until it ends, and who uses a port. */

import * as z from "zod";
import { Ok } from "kit/http/contract.ts";
import { Instant, Name, Sender } from "kit/core/schema.ts";
import { contract, nullableString } from "protocol/contract.ts";

/** The resource whose leases each have a port of their own. */
export const PORT = "port";

/** The words of a lease: `port:web`, `db`, `gpu:0`. */
export const LeaseWords = z.string().max(129).regex(
  /^[\w.-]{1,64}(?::[\w.-]{1,64})?$/,
  "a resource, or resource:name, such as port:web, db or gpu:0",
).refine((words) => words !== PORT, "a port has a name, such as port:web");

export const Lease = z.object({
  lease_id: z.string(),
  /** Such as `port`, `db` or `gpu`. */
  resource: z.string(),
  /** The name of the port, or of one of several such resources. */
  name: nullableString,
  /** The number of a port; null for another resource. */
  port: z.number().int().nullable(),
  /** The agent that has it; null for another program. */
  peer_id: nullableString,
  holder: z.string(),
  /** The process with whose end the lease ends; null while a spawned agent starts. */
  pid: z.number().int().nullable(),
  /** The variable that a spawned agent has it in. */
  variable: z.string(),
  /** The value of the variable: the port, else the name or the resource. */
  value: z.string(),
  taken_at: Instant,
}).meta({ id: "Lease" });
export type Lease = z.output<typeof Lease>;

const Pid = z.number().int().min(1).max(4_194_304);

export const takeLease = contract({
  id: "leases.take",
  method: "POST",
  path: "/leases",
  summary: "Lease a port or another named resource for a process, until it ends. Repeated, it " +
    "returns the lease that the process has",
  access: "caller",
  tunnel: "never",
  body: z.object({
    resource: Name,
    name: Name.optional(),
    pid: Pid.optional().describe(
      "The process with whose end the lease ends. An agent need not give it, and may name itself " +
        "or a process that it started; others may name any process of this user",
    ),
    from_peer: Sender.optional(),
  }),
  actor: { field: "body.from_peer" },
  returns: Lease,
  fails: [
    "lease_held",
    "lease_needs_name",
    "lease_holder_not_proven",
    "no_free_port",
    "too_many_leases",
    "ambiguous_peer",
  ],
});
export type LeaseRequest = z.output<typeof takeLease.body>;

export const listLeases = contract({
  id: "leases.list",
  method: "GET",
  path: "/leases",
  summary: "The leases whose processes run, oldest first",
  access: "caller",
  tunnel: "admin",
  returns: z.object({ leases: z.array(Lease) }),
});

export const releaseLease = contract({
  id: "leases.release",
  method: "DELETE",
  path: "/leases/:id",
  summary: "End a lease before its process ends",
  access: "caller",
  tunnel: "never",
  params: z.object({ id: z.string() }),
  query: z.object({ from_peer: Sender.optional() }),
  actor: { field: "query.from_peer" },
  returns: Ok,
  fails: ["unknown_lease", "not_your_lease", "ambiguous_peer"],
});

export const PortUse = z.object({
  port: z.number().int(),
  lease: Lease.nullable(),
  /** The processes of this user that listen there, and the agent that started each. */
  listeners: z.array(z.object({
    pid: z.number().int(),
    command: nullableString,
    peer_id: nullableString,
    name: nullableString,
  })),
  /** Sockets that listen there and whose process cannot be seen, such as those of other users. */
  others: z.number().int(),
}).meta({ id: "PortUse" });
export type PortUse = z.output<typeof PortUse>;

export const whoUsesPort = contract({
  id: "leases.port",
  method: "GET",
  path: "/ports/:port",
  summary: "Who leased a TCP port of this machine, and which processes listen there",
  access: "caller",
  tunnel: "admin",
  params: z.object({ port: z.coerce.number().int().min(1).max(65_535) }),
  returns: PortUse,
});
