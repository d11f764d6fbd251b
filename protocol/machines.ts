/**
 * The routes of machines, as data: which machines exchange messages over the bus, and how they are.
 */

import * as z from "zod";
import { Ok } from "kit/http/contract.ts";
import { contract } from "protocol/contract.ts";
import { Instant } from "kit/core/schema.ts";

/** The connection to the bus. `disabled`: no bus is configured. */
export const BusState = z.enum(["disabled", "connecting", "connected", "down"]);
export type BusState = z.output<typeof BusState>;

/** Status of another machine. Its lease in the directory lasts 60 s. */
export const MachineStatus = z.enum(["online", "offline"]);

/** Another machine of the network (specification of machines: docs/machines.md). */
export const Machine = z.lazy(() =>
  z.object({
    daemon_id: z.string(),
    /** The name that follows `@` in the names of its peers. */
    name: z.string(),
    /** 8 groups of 4 hex digits of the SHA-256 of its public keys. */
    fingerprint: z.string(),
    status: MachineStatus,
    /** When its daemon announced itself last, by this machine's clock. */
    last_seen: Instant.nullable(),
    /** Last round trip to its daemon, in milliseconds; null while it does not answer. */
    latency_ms: z.number().nullable(),
    /** Milliseconds by which its clock is ahead of this machine's; null before it was measured. */
    clock_ahead_ms: z.number().nullable(),
    /** Number of peers that the machine shares. */
    peers: z.number().int(),
    /** Number of messages and reports that its daemon has not confirmed. */
    waiting: z.number().int(),
    /** When the oldest of them was accepted here. */
    oldest_waiting_at: Instant.nullable(),
    /**
     * The last time at which this machine found that its database or the other one's had gone back
     * to an earlier state, and the number of messages and reports that it sent again; null if none.
     */
    went_back: z.object({ at: Instant, sent_again: z.number().int() }).nullable().optional(),
    /** True if `mesh.bus.allow_admin` names it: it may administer this machine, as its human. */
    may_administer: z.boolean(),
  }).meta({ id: "Machine" })
);
export type Machine = z.output<typeof Machine>;

/** A machine's refusal of another machine, or of a part of what that one announces. */
const MachineRefusal = z.object({
  daemon_id: z.string(),
  name: z.string().nullable(),
  reason: z.string(),
  detail: z.string(),
  /** The action that ends the refusal. */
  hint: z.string(),
  at: Instant,
});

/** This machine, and its connection to the bus. */
export const BusReport = z.lazy(() =>
  z.object({
    status: BusState,
    /** Of the server, without credentials. */
    url: z.string().nullable(),
    since: Instant.nullable(),
    /** Why it is not connected, in a sentence. */
    reason: z.string().nullable(),
    /** Last round trip to the server, in milliseconds; null while it does not answer. */
    latency_ms: z.number().nullable(),
    /** Time of the last bytes from the server on this connection; null while disconnected. */
    last_heard_at: Instant.nullable().optional(),
    daemon_id: z.string(),
    /** This machine's name in the network; null without a bus. */
    name: z.string().nullable(),
    fingerprint: z.string().nullable(),
    /** The circles whose peers are published (`mesh.bus.allow`); `*` stands for every circle. */
    shared_circles: z.array(z.string()),
    /** Batches that wait at the server for this machine, as it reported last. */
    waiting_at_bus: z.number().int().nullable(),
    bytes_at_bus: z.number().nullable(),
    bytes_at_bus_max: z.number().nullable(),
    /**
     * Another daemon with this machine's id: a state directory or a virtual machine was copied.
     * `refused`: the other daemon was connected first, and this one exchanges nothing. `connected`:
     * this daemon was first, and refused the other one within the last minutes.
     */
    identity_in_use: z.object({
      this_one: z.enum(["connected", "refused"]),
      place: z.string(),
      started_at: Instant,
      at: Instant,
    }).nullable(),
    /** Machines that this one refuses, wholly or in part. */
    refused: z.array(MachineRefusal),
    /** Machines that refuse this one, wholly or in part: they ignore its announcements. */
    refused_by: z.array(MachineRefusal),
  }).meta({ id: "Bus" })
);
export type BusReport = z.output<typeof BusReport>;

export const listMachines = contract({
  id: "machines.list",
  method: "GET",
  path: "/machines",
  compressed: true,
  summary: "The machines that exchange messages with this one, and the connection to the bus",
  access: "caller",
  tunnel: "open",
  returns: z.object({ bus: BusReport, machines: z.array(Machine) }),
});

export const forgetMachine = contract({
  id: "machines.forget",
  method: "DELETE",
  path: "/machines/:id",
  summary: "Forget a machine and its keys: its peers go, what waits for it ends with a reason",
  access: "token",
  tunnel: "never",
  params: z.object({ id: z.string().describe("A daemon id, or a machine's name") }),
  returns: Ok,
  fails: ["unknown_machine_name"],
});
