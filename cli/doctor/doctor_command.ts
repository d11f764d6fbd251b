/** `mesh doctor`: how the daemon, its mesh and this machine are, and what to do about it. */

import type { Clock } from "kit/core/clock.ts";
import { type Command, JSON_FLAG, type Session, type Words } from "../command/command.ts";
import { EXIT } from "../client/failures.ts";
import { FAILED, findAll } from "./checks.ts";
import type { Finding, Severity } from "./finding.ts";
import { thisMachine } from "./machine.ts";
import { type Answer, hear, type Mesh, WAITING_MAX } from "./mesh.ts";
import {
  ink,
  print,
  printFields,
  printJson,
  printTable,
  type Style,
  type Terminal,
} from "../output/print.ts";
import { spanOf } from "../output/show.ts";
import { reasonOf } from "../output/why.ts";

export const DOCTOR: Command = {
  words: "doctor",
  summary: "Say what is wrong with the daemon, its mesh or this machine, and how to mend it",
  about: "0 when nothing is wrong, 1 with an error among the findings, 3 when nothing at all " +
    "could be looked at. Looks, and changes nothing; the daemon may be down.",
  flags: {
    "--all": "what is well, too",
    "--audit": "count all messages, and name each that is not accounted for",
    ...JSON_FLAG,
  },
  example: "mesh doctor --audit",
  run: doctor,
};

interface Waiting {
  readonly name: string;
  readonly count: number;
  readonly oldest: string;
  readonly reason: string | null;
}

async function doctor(session: Session, words: Words): Promise<number> {
  const { env, terminal, clock } = session;
  const mesh = await hear(env, clock, () => session.daemon);
  const findings = await findAll(thisMachine(env, clock), mesh);
  if (words.flag("json")) printJson(terminal, answerOf(findings, mesh));
  else show({ terminal, clock }, words, { findings, mesh });
  if (findings.every(({ code }) => code === FAILED)) return EXIT.unreachable;
  return findings.some(({ severity }) => severity === "error") ? EXIT.refused : EXIT.done;
}

/** What only the daemon knows is null or empty while it is down. */
function answerOf(findings: readonly Finding[], { health, peers, answer }: Mesh) {
  const { counts = {}, total = null, unproved = null, unaccounted = [] } = answer ?? {};
  const waiting = answer ? waitingOf(answer) : [];
  const by_status = peers ? countsOf(peers) : {};
  const mesh = { peers: by_status, waiting, counts, total, unproved, unaccounted };
  return { findings, health: health ?? null, ...mesh };
}

function show(
  { terminal, clock }: Pick<Session, "terminal" | "clock">,
  words: Words,
  { findings, mesh }: { findings: readonly Finding[]; mesh: Mesh },
): void {
  const { answer } = mesh;
  if (mesh.health) showState(terminal, mesh), print(terminal);
  showFindings(terminal, findings, words.flag("all"));
  if (!answer) return;
  showWaiting(terminal, waitingOf(answer), clock);
  if ((answer.counts["queued"] ?? 0) > Number(WAITING_MAX)) {
    print(terminal, ink("dim", `Of the newest ${WAITING_MAX} that wait.`));
  }
  if (words.flag("audit")) showAudit(terminal, answer);
}

const STYLES: Readonly<Record<Severity, Style>> = {
  ok: "green",
  note: "cyan",
  warning: "yellow",
  error: "red",
};

/** The worst first; what is well is counted, unless all is asked for. */
function showFindings(to: Terminal, findings: readonly Finding[], all: boolean): void {
  const order: readonly Severity[] = ["error", "warning", "note", "ok"];
  const shown = order.filter((severity) => all || severity !== "ok")
    .flatMap((severity) => findings.filter((one) => one.severity === severity));
  for (const { area, severity, detail, fix } of shown) {
    print(to, ink(STYLES[severity], severity.padEnd(8)), ink("dim", area.padEnd(10)), detail);
    if (fix !== null) print(to, " ".repeat(18), ink("dim", "fix: "), fix);
  }
  const well = findings.filter(({ severity }) => severity === "ok").length;
  if (!all) print(to, ink("green", `${well} checks are well`), ": mesh doctor --all");
}

function showState(to: Terminal, { health, daemon, peers, answer }: Mesh): void {
  if (!health) return;
  printFields(to, {
    daemon: ink("green", "up"),
    url: daemon?.url,
    version: `${health.version}, schema ${health.schema_version}`,
    pid: String(health.pid),
    "up for": spanOf(health.uptime_seconds * 1000),
    peers: peers && (told(countsOf(peers)) || "none"),
    relay: health.relay.status,
    waiting: answer && String(answer.counts["queued"] ?? 0),
    unproved: answer && unprovedOf(answer),
  });
}

function unprovedOf({ unproved }: Answer) {
  return unproved === 0 ? "0" : ink("yellow", `${unproved}: they went out without a proof`);
}

function countsOf(peers: NonNullable<Mesh["peers"]>): Record<string, number> {
  return Object.fromEntries(
    Map.groupBy(peers, ({ status }) => status).entries().map(([status, of]) => [status, of.length]),
  );
}

function showWaiting(to: Terminal, waiting: readonly Waiting[], clock: Clock): void {
  if (waiting.length === 0) return;
  print(to);
  printTable(
    to,
    [
      { title: "WAITS FOR", of: ({ name }) => ink("cyan", name), kept: true },
      { title: "COUNT", of: ({ count }) => String(count) },
      { title: "OLDEST", of: ({ oldest }) => spanOf(clock.now() - Date.parse(oldest)) },
      { title: "WHY", of: ({ reason }) => reasonOf(reason) },
    ],
    waiting,
    "",
  );
}

function showAudit(to: Terminal, { counts, total, unaccounted }: Answer): void {
  print(to);
  const states = Object.entries(counts).map(([state, count]) => [state, String(count)]);
  printFields(to, { ...Object.fromEntries(states), total: String(total) });
  const none = unaccounted.length === 0;
  print(to, ink(none ? "green" : "red", `${unaccounted.length} unaccounted`));
  for (const { delivery_id, state, problem } of unaccounted) {
    print(to, "  ", ink("cyan", delivery_id), `  ${state}: ${problem.replaceAll("_", " ")}`);
  }
}

/** Who is waited for, most first. Deliveries come newest first. */
function waitingOf({ deliveries }: Answer): Waiting[] {
  const by_peer = Map.groupBy(deliveries, ({ to_peer_id }) => to_peer_id);
  return [...by_peer.values()].flatMap((of) => {
    const last = of.at(-1);
    if (!last) return [];
    const { to_peer_name: name, created_at: oldest, reason } = last;
    return [{ name, count: of.length, oldest, reason }];
  }).sort((a, b) => b.count - a.count);
}

function told(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts).map(([what, count]) => `${count} ${what}`).join(", ");
}
