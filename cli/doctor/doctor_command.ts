/** `mesh doctor`: checks the daemon, its peers and this machine, and says how to fix problems. */

import type { Clock } from "kit/core/clock.ts";
import { fileRefusal } from "kit/host/file_errors.ts";
import { messageOf } from "kit/core/text.ts";
import { mustHavePaths } from "../../daemon/host/paths.ts";
import { type Args, type Command, type CommandContext, JSON_FLAG } from "../command/command.ts";
import { EXIT } from "../client/failures.ts";
import { AGENT_CHECK } from "./agents.ts";
import { BUS } from "./bus.ts";
import { DAEMON, INSPECTOR, OUTGOING, RELAY } from "./daemon.ts";
import { type Check, type Finding, type Severity, toFinding } from "./finding.ts";
import { type Machine, thisMachine } from "./machine.ts";
import { JOBS, PEERS } from "./peers.ts";
import { PUSH } from "./push.ts";
import { type DeliveryAudit, type MeshSnapshot, QUEUED_MAX, takeSnapshot } from "./snapshot.ts";
import { CLOCK, CONFIG, DISK, STATE } from "./state.ts";
import { KITTY, TMUX } from "./terminals.ts";
import { type Style, styled, type Terminal } from "../output/terminal.ts";
import { formatDuration } from "../output/time.ts";
import { formatReason } from "protocol/derived/delivery_state.ts";

export const DOCTOR: Command = {
  usage: "doctor",
  needs: "this machine",
  summary: "Find problems with the daemon, its peers and this machine, and how to fix them",
  details:
    "Changes nothing; the daemon may be down. Exit codes: 0 without errors, 1 with an error " +
    "among the findings, 3 when no check could run.",
  flags: {
    "--all": "also list checks that passed",
    "--audit": "count all messages, and list those that are unaccounted for",
    ...JSON_FLAG,
  },
  example: "mesh doctor --audit",
  run: doctor,
};

const CHECKS: readonly Check[] = [
  DAEMON,
  STATE,
  CONFIG,
  DISK,
  CLOCK,
  TMUX,
  KITTY,
  AGENT_CHECK,
  PEERS,
  JOBS,
  OUTGOING,
  RELAY,
  PUSH,
  BUS,
  INSPECTOR,
];

/** The code of the finding for a check that threw an error. */
const CHECK_FAILED = "CHECK_FAILED";

async function doctor(context: CommandContext, args: Args): Promise<number> {
  const { env, terminal, clock } = context;
  mustHavePaths(env); // Each check would fail for the same reason.
  const snapshot = await takeSnapshot(env, clock, () => context.daemon);
  const findings = await runChecks(thisMachine(env, clock), snapshot);
  if (args.flag("json")) terminal.printJson(toJson(findings, snapshot));
  else printReport(findings, snapshot, context, args);
  if (findings.every(({ code }) => code === CHECK_FAILED)) return EXIT.unreachable;
  return findings.some(({ severity }) => severity === "error") ? EXIT.refused : EXIT.done;
}

/**
 * Runs all checks. If a check throws, the error becomes a finding, so that the other checks are
 * still reported.
 */
async function runChecks(machine: Machine, snapshot: MeshSnapshot): Promise<Finding[]> {
  const found = await Promise.all(CHECKS.map(async ({ area, run }): Promise<Finding[]> => {
    try {
      return (await run(machine, snapshot)).map((result) => toFinding(area, result));
    } catch (error) {
      const { message, hint } = fileRefusal(error) ??
        { message: messageOf(error), hint: "mesh logs" };
      return [toFinding(area, ["error", CHECK_FAILED, `the check failed: ${message}`, hint])];
    }
  }));
  return found.flat();
}

/** The report as JSON. Fields that only the daemon knows are null or empty while it is down. */
function toJson(findings: readonly Finding[], { health, peers, audit }: MeshSnapshot) {
  const { counts = {}, total = null, unproved = null, unaccounted = [] } = audit ?? {};
  const waiting = audit ? waitingPeers(audit) : [];
  const byStatus = peers ? countByStatus(peers) : {};
  const summary = { peers: byStatus, waiting, counts, total, unproved, unaccounted };
  return { findings, health: health ?? null, ...summary };
}

function printReport(
  findings: readonly Finding[],
  snapshot: MeshSnapshot,
  { terminal, clock }: CommandContext,
  args: Args,
): void {
  const { audit } = snapshot;
  if (snapshot.health) showState(terminal, snapshot), terminal.print();
  showFindings(terminal, findings, args.flag("all"));
  if (!audit) return;
  showWaiting(terminal, waitingPeers(audit), clock);
  if ((audit.counts["queued"] ?? 0) > Number(QUEUED_MAX)) {
    terminal.print(styled("dim", `Counts only the newest ${QUEUED_MAX} waiting messages.`));
  }
  if (args.flag("audit")) showAudit(terminal, audit);
}

const STYLES: Readonly<Record<Severity, Style>> = {
  ok: "green",
  note: "cyan",
  warning: "yellow",
  error: "red",
};

/** Prints the worst findings first. Passed checks are only counted, unless `all` is true. */
function showFindings(to: Terminal, findings: readonly Finding[], all: boolean): void {
  const order = ["error", "warning", "note", ...(all ? ["ok"] : [])];
  const listed = order.flatMap((kind) => findings.filter(({ severity }) => severity === kind));
  for (const { area, severity, detail, fix } of listed) {
    to.print(styled(STYLES[severity], severity.padEnd(8)), styled("dim", area.padEnd(10)), detail);
    if (fix !== null) to.print(" ".repeat(18), styled("dim", "fix: "), fix);
  }
  const okCount = findings.filter(({ severity }) => severity === "ok").length;
  if (!all) {
    to.print(styled("green", `${okCount} checks passed`), " (mesh doctor --all lists them)");
  }
}

function showState(to: Terminal, { health, daemon, peers, audit }: MeshSnapshot): void {
  if (!health) return;
  to.printFields({
    daemon: styled("green", "running"),
    url: daemon?.url,
    version: `${health.version}, schema ${health.schema_version}`,
    pid: String(health.pid),
    "up for": formatDuration(health.uptime_seconds * 1000),
    peers: peers && (formatCounts(countByStatus(peers)) || "none"),
    relay: health.relay.status,
    waiting: audit && String(audit.counts["queued"] ?? 0),
    unproved: audit && formatUnproved(audit),
  });
}

function formatUnproved({ unproved }: DeliveryAudit) {
  return unproved === 0 ? "0" : styled("yellow", `${unproved}, never confirmed as seen`);
}

function countByStatus(peers: NonNullable<MeshSnapshot["peers"]>): Record<string, number> {
  const byStatus = Map.groupBy(peers, ({ status }) => status).entries();
  return Object.fromEntries(byStatus.map(([status, group]) => [status, group.length]));
}

function showWaiting(to: Terminal, waiting: ReturnType<typeof waitingPeers>, clock: Clock) {
  if (waiting.length === 0) return;
  to.print();
  to.printTable(waiting, {
    "WAITS FOR": ({ name }) => styled("cyan", name),
    COUNT: ({ count }) => String(count),
    OLDEST: ({ oldest }) => formatDuration(clock.now() - Date.parse(oldest)),
    WHY: ({ reason }) => formatReason(reason),
  }, { essential: ["WAITS FOR"] });
}

function showAudit(to: Terminal, { counts, total, unaccounted }: DeliveryAudit): void {
  to.print();
  const states = Object.entries(counts).map(([state, count]) => [state, String(count)]);
  to.printFields({ ...Object.fromEntries(states), total: String(total) });
  const allAccounted = unaccounted.length === 0;
  to.print(styled(allAccounted ? "green" : "red", `${unaccounted.length} unaccounted`));
  for (const { delivery_id, state, problem } of unaccounted) {
    to.print("  ", styled("cyan", delivery_id), `  ${state}: ${problem.replaceAll("_", " ")}`);
  }
}

/**
 * The peers that have waiting messages, sorted by the number of messages. `deliveries` is sorted
 * newest first.
 */
function waitingPeers({ deliveries }: DeliveryAudit) {
  const byPeer = Map.groupBy(deliveries, ({ to_peer_id }) => to_peer_id);
  return [...byPeer.values()].flatMap((group) =>
    group.slice(-1).map(({ to_peer_name: name, created_at: oldest, reason }) => (
      { name, count: group.length, oldest, reason }
    ))
  ).sort((a, b) => b.count - a.count);
}

function formatCounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts).map(([what, count]) => `${count} ${what}`).join(", ");
}
