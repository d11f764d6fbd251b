/** `mesh lease` and `mesh leases`: what a process has for itself. */

import { ApiError, type WireResponse } from "kit/http/client.ts";
import { pause } from "kit/core/timeout.ts";
import { listLeases, releaseLease, takeLease } from "protocol/generated/endpoints.ts";
import {
  answerCommand,
  type Args,
  type Command,
  type CommandContext,
  interruptible,
} from "../../command/command.ts";
import { UsageError } from "../../client/failures.ts";
import { formatAge } from "../../output/time.ts";

type Lease = WireResponse<typeof takeLease>;

/** A caller who is identified by one of these is an agent, whose own process gets the lease. */
const PROOFS: readonly string[] = ["process", "session", "pane"];
/** The interval at which a lease that another holds is asked for again. */
const WAIT_MS = 1_000;

const DETAILS =
  "The lease ends when its process ends: the agent that runs this, or the shell of a person. " +
  "Repeated, it prints the lease that the process has. For a port, standard output has the " +
  "number: PORT=$(mesh lease port web). Ports have a range of their own, the setting " +
  "leases.ports; each process may have one of the same name. Any other resource, such as db or " +
  "gpu 0, has one holder at a time. A lease is an agreement: nothing keeps other programs away.";

export const LEASE_COMMANDS: readonly Command[] = [
  answerCommand({
    usage: "lease <resource> [name]",
    summary: "Have a port, a database, a GPU for one process until it ends",
    details: DETAILS,
    flags: {
      "--pid <pid>": "end the lease with this process",
      "--wait": "wait until the one that holds it has ended",
      "--timeout <duration>": "stop waiting after this time, such as 90 (s) or 2m",
      "--release": "end the lease now",
    },
    example: "mesh lease port web",
    needs: "this machine",
    hasSender: true,
    call: (context, args) => args.flag("release") ? release(context, args) : take(context, args),
    show: (lease, { terminal }, args) => {
      const words = wordsOf(lease);
      if (args.flag("release")) return terminal.print(`${words}: ended`);
      if (lease.port !== null) terminal.print(lease.value);
      const end = lease.peer_id === null ? "it ends" : `its process ${lease.pid} ends`;
      terminal.printError(`${words}: held by ${lease.holder} until ${end}`);
    },
  }),
  answerCommand({
    usage: "leases",
    summary: "List what processes hold: ports and other leased resources",
    example: "mesh leases",
    call: (context) => context.call(listLeases, {}),
    show: ({ leases }, { clock, terminal }) =>
      terminal.printTable(leases, {
        lease: wordsOf,
        value: ({ value }) => value,
        holder: ({ holder }) => holder,
        process: ({ pid }) => pid === null ? "starting" : String(pid),
        taken: ({ taken_at }) => formatAge(taken_at, clock),
      }, { empty: "Nothing is leased" }),
  }),
];

async function take(context: CommandContext, args: Args): Promise<Lease> {
  const seconds = args.seconds("timeout");
  const { peer, identifiedBy } = await context.sender(args);
  const body = {
    resource: args.text("resource"),
    name: args.get("name"),
    pid: pidOf(args) ?? (PROOFS.includes(identifiedBy) ? undefined : Deno.ppid),
    from_peer: peer,
  };
  const ask = () => context.call(takeLease, { body });
  if (!args.flag("wait")) return await ask();
  const deadline = seconds === undefined ? Infinity : context.clock.monotonic() + seconds * 1000;
  return await interruptible(async (signal) => {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!isHeld(error) || context.clock.monotonic() >= deadline) throw error;
        await pause(context.clock, WAIT_MS, signal);
        signal.throwIfAborted();
      }
    }
  });
}

async function release(context: CommandContext, args: Args): Promise<Lease> {
  const { leases } = await context.call(listLeases, {});
  const [resource, name = null] = [args.text("resource"), args.get("name")];
  const { peer } = await context.sender(args);
  const found = leases.filter((lease) => lease.resource === resource && lease.name === name);
  const own = found.find(({ holder, peer_id }) => peer === holder || peer === peer_id) ?? found[0];
  if (!own) {
    throw new UsageError(`Nobody holds ${name === null ? resource : `${resource} ${name}`}`);
  }
  await context.call(releaseLease, { params: { id: own.lease_id }, query: { from_peer: peer } });
  return own;
}

function isHeld(error: unknown): boolean {
  return error instanceof ApiError && error.problem.error === "lease_held";
}

function pidOf(args: Args): number | undefined {
  const pid = args.number("pid");
  if (pid === undefined || Number.isSafeInteger(pid)) return pid;
  throw new UsageError(`--pid: "${pid}" is not the number of a process`);
}

export function wordsOf({ resource, name }: Pick<Lease, "resource" | "name">): string {
  return name === null ? resource : `${resource} ${name}`;
}
