/** The output of the commands of machines: the connection to the bus, and the table of machines. */

import type { Clock } from "kit/core/clock.ts";
import type { WireResponse } from "kit/http/client.ts";
import type { listMachines } from "protocol/generated/endpoints.ts";
import { styled, type StyledText, type Terminal } from "../../output/terminal.ts";
import { formatAge, formatDuration } from "../../output/time.ts";

type MachineList = WireResponse<typeof listMachines>;
type Bus = MachineList["bus"];
type Machine = MachineList["machines"][number];

/** A difference between two clocks below this is shown as none. */
const CLOCK_MS_SHOWN = 1000;
const CLOCK_MS_WARNED = 30_000;

/** Prints the connection's state and, on a second line, the reason for a failure. */
export function showConnection(to: Terminal, { status, url, reason }: Bus): void {
  if (status === "connected") return to.print(styled("green", "Connected"), ` to ${url}`);
  if (status === "disabled") return to.print("This machine has not joined a network of machines.");
  to.print(styled("yellow", status === "down" ? "Not connected" : "Connecting"), ` to ${url}`);
  if (reason !== null) to.print(`${reason}.`.replace(/\.\.$/, "."));
  to.print("The daemon goes on trying; see `mesh machines`.");
}

/** Shows this machine and its connection, then the other machines. */
export function showMachines(to: Terminal, { bus, machines }: MachineList, clock: Clock): void {
  showThisMachine(to, bus, clock);
  if (bus.status === "disabled" && machines.length === 0) return;
  to.print();
  to.printTable(machines, {
    MACHINE: ({ name }) => styled("cyan", name),
    STATUS: (machine) => formatStatus(machine, clock),
    LATENCY: ({ latency_ms }) => latency_ms === null ? "" : formatLatency(latency_ms),
    CLOCK: ({ clock_ahead_ms }) => clock_ahead_ms === null ? "" : formatClock(clock_ahead_ms),
    PEERS: ({ peers }) => String(peers),
    WAITING: (machine) => formatWaiting(machine, clock),
    ADMIN: ({ may_administer }) => may_administer ? "yes" : "",
    ID: ({ daemon_id }) => styled("dim", daemon_id),
  }, { whole: ["MACHINE", "ID"], empty: "No other machine has been seen yet." });
  for (const machine of machines) showLoss(to, machine, clock);
  showRefusals(to, bus);
}

function showLoss(to: Terminal, { name, went_back }: Machine, clock: Clock): void {
  if (!went_back) return;
  const { at, sent_again } = went_back;
  to.print();
  to.print(
    `The database of ${name} or of this machine went back to an earlier state, found `,
    `${formatAge(at, clock)} ago: ${sent_again} messages and reports were sent again.`,
  );
}

/** Shows refusals between this machine and others, with advice. */
function showRefusals(to: Terminal, { refused = [], refused_by = [] }: Partial<Bus>): void {
  const all = [
    ...refused_by.map((refusal) => ({ refusal, what: "refuses this machine" })),
    ...refused.map((refusal) => ({ refusal, what: "is refused here" })),
  ];
  if (all.length > 0) to.print();
  for (const { refusal: { name, daemon_id, reason, detail, hint }, what } of all) {
    to.print(styled("yellow", `${name ?? daemon_id} ${what}`), ` (${reason}): ${detail}.`);
    to.print(`  What to do: ${hint}.`);
  }
}

function showThisMachine(to: Terminal, bus: Bus, clock: Clock): void {
  if (bus.status === "disabled") {
    to.print("This machine has not joined a network of machines.");
    to.print("Begin one here: ", styled("cyan", "mesh machines serve"));
    to.print("Join one: ", styled("cyan", "mesh machines join mesh_join_…"), " (invited there by");
    return to.print("`mesh machines invite NAME`), or `mesh machines join tls://HOST:PORT`.");
  }
  const shared = bus.shared_circles.includes("*") ? "every circle" : bus.shared_circles.join(", ");
  const latency = bus.latency_ms === null ? [] : [formatLatency(bus.latency_ms)];
  to.printFields({
    "this machine": `${bus.name}, ${bus.daemon_id}`,
    fingerprint: bus.fingerprint,
    bus: [bus.status, bus.url, ...latency].join(", "),
    "last heard": bus.last_heard_at ? formatAge(bus.last_heard_at, clock) : null,
    "why not": bus.status === "connected" ? null : bus.reason,
    "second daemon": bus.identity_in_use?.this_one === "connected"
      ? `${bus.identity_in_use.place} has this machine's identity, too, and is refused; there: ` +
        "mesh machines renew-identity"
      : null,
    shares: shared || "nothing; choose circles: mesh config set mesh.bus.allow CIRCLE",
    "at the bus": bus.waiting_at_bus ? `${bus.waiting_at_bus} batches wait for this machine` : null,
  });
}

/** The status with the age of the evidence: a machine that is silent may be well. */
function formatStatus({ status, last_seen }: Machine, clock: Clock): StyledText {
  const age = last_seen === null ? "never seen" : formatAge(last_seen, clock);
  return styled(status === "online" ? "green" : "dim", `${status}, ${age}`);
}

function formatLatency(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`;
}

function formatClock(ahead_ms: number): StyledText {
  const off_ms = Math.abs(ahead_ms);
  if (off_ms < CLOCK_MS_SHOWN) return "same";
  const text = `${formatDuration(off_ms)} ${ahead_ms > 0 ? "ahead" : "behind"}`;
  return off_ms < CLOCK_MS_WARNED ? text : styled("yellow", text);
}

function formatWaiting({ waiting, oldest_waiting_at }: Machine, clock: Clock): StyledText {
  if (waiting === 0) return "";
  const since = oldest_waiting_at === null ? "" : `, oldest ${formatAge(oldest_waiting_at, clock)}`;
  return styled("yellow", `${waiting}${since}`);
}
