/** `mesh lease` and `mesh leases`: what a process has for itself. */

import { ApiError, type WireResponse } from "kit/http/client.ts";
import { pause } from "kit/core/timeout.ts";
import { leaseSentence, leaseWords } from "protocol/holdings/lease_words.ts";
import { listLeases, releaseLease, takeLease } from "protocol/generated/endpoints.ts";
import {
  answerCommand,
  type Args,
  type Command,
  type CommandContext,
  interruptible,
} from "../../command/command.ts";
import { CommandError, unlessRejected, UsageError } from "../../client/failures.ts";
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
      "--pid <pid>": "end the lease with this process; with --release, the lease of this process",
      "--wait": "wait until the one that holds it has ended",
      "--timeout <duration>": "stop waiting after this time, such as 90 (s) or 2m",
      "--release": "end the lease now; a lease that nobody holds is no error",
    },
    example: "mesh lease port web",
    needs: "this machine",
    hasSender: true,
    call: (context, args) => args.flag("release") ? release(context, args) : take(context, args),
    show: (lease, { terminal }, args) => {
      if (!lease) return terminal.print(`${leaseWords(subjectOf(args))}: nobody holds it`);
      if (args.flag("release")) return terminal.print(`${leaseWords(lease)}: ended`);
      if (lease.port !== null) terminal.print(lease.value);
      terminal.printError(leaseSentence(lease));
    },
  }),
  answerCommand({
    usage: "leases",
    summary: "List what processes hold: ports and other leased resources",
    example: "mesh leases",
    call: (context) => context.call(listLeases, {}),
    show: ({ leases }, { clock, terminal }) =>
      terminal.printTable(leases, {
        lease: leaseWords,
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
        if (!isRefusal(error, "lease_held") || context.clock.monotonic() >= deadline) throw error;
        await pause(context.clock, WAIT_MS, signal);
        signal.throwIfAborted();
      }
    }
  });
}

/** Ends the caller's lease, or that of `--pid`; null if nobody holds it. */
async function release(context: CommandContext, args: Args): Promise<Lease | null> {
  const { leases } = await context.call(listLeases, {});
  const { peer, identifiedBy } = await context.sender(args);
  const wanted = subjectOf(args), isAgent = PROOFS.includes(identifiedBy), pid = pidOf(args);
  const found = leases.filter(({ resource, name }) =>
    resource === wanted.resource && name === wanted.name
  );
  const isOwn = (lease: Lease) =>
    pid === undefined && isAgent
      ? lease.holder === peer || lease.peer_id === peer
      : lease.pid === (pid ?? Deno.ppid);
  const lease = found.find(isOwn) ?? found[0];
  if (!lease) return null;
  // The daemon lets a person end each lease, so that of another holder has to be named.
  if (!isOwn(lease) && (pid !== undefined || !isAgent)) throw heldByAnother(lease);
  const request = { params: { id: lease.lease_id }, query: { from_peer: peer } };
  const hasEnded = (error: unknown) => isRefusal(error, "unknown_lease");
  return await unlessRejected(hasEnded, () => context.call(releaseLease, request)) ? lease : null;
}

function heldByAnother(lease: Lease): CommandError {
  const { holder, pid } = lease, words = leaseWords(lease);
  const place = pid === null || lease.peer_id === null ? "" : ` (process ${pid})`;
  const advice = pid === null ? "" : `; to end it: mesh lease ${words} --release --pid ${pid}`;
  return new CommandError(`${words} is held by ${holder}${place}${advice}`);
}

function subjectOf(args: Args): Pick<Lease, "resource" | "name"> {
  return { resource: args.text("resource"), name: args.get("name") ?? null };
}

function isRefusal(error: unknown, code: string): boolean {
  return error instanceof ApiError && error.problem.error === code;
}

function pidOf(args: Args): number | undefined {
  const pid = args.number("pid");
  if (pid === undefined || Number.isSafeInteger(pid)) return pid;
  throw new UsageError(`--pid: "${pid}" is not the number of a process`);
}
