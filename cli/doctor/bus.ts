/** The doctor's checks of the bus: the connection, the clocks, what waits, and how full it is. */

import { formatInstant } from "kit/core/local_time.ts";
import type { WireResponse } from "kit/http/client.ts";
import type { listMachines } from "protocol/generated/endpoints.ts";
import { formatDuration, formatHeard } from "../output/time.ts";
import type { Check, CheckResult } from "./finding.ts";

type MachineList = WireResponse<typeof listMachines>;
type Bus = MachineList["bus"];
type Machine = MachineList["machines"][number];
type Refusal = Bus["refused"][number];

/** Clock difference from which ages and orders are wrong. */
const CLOCK_WARNING_MS = 30_000;
/** Clock difference from which two machines refuse each other's calls, which must be fresh. */
const CLOCK_ERROR_MS = 5 * 60_000;
/** Used part of the store. When it is full, other machines' messages wait at their senders. */
const FILL_WARNING = 0.8;
const FILL_ERROR = 0.95;
/** Number of waiting batches. They are fetched at once, so more mean that this machine is slow. */
const LAG_WARNING = 100;

export const BUS: Check = {
  area: "bus",
  run({ clock }, { machines: listed }) {
    if (!listed) return [];
    const { bus, machines } = listed;
    if (bus.status === "disabled") {
      return [["ok", "BUS_DISABLED", "this machine is in no network of machines"]];
    }
    return [
      connectionFinding(bus, clock.now()),
      ...identityFindings(bus),
      ...refusalFindings(bus),
      ...sharingFindings(bus, machines),
      ...storeFindings(bus),
      ...machines.flatMap(clockFindings),
      ...machines.flatMap(waitingFindings),
    ];
  },
};

/** Reports the connection. The daemon connects only if the server lets it bind its own subjects. */
function connectionFinding(bus: Bus, now: number): CheckResult {
  const { status, url, reason, latency_ms, last_heard_at } = bus;
  if (bus.identity_in_use?.this_one === "refused") {
    const fix = "stop the other daemon; or, if this is the copy, give it an identity of its own: " +
      "mesh machines renew-identity";
    return ["error", "BUS_IDENTITY_IN_USE", reason ?? "identity_in_use", fix];
  }
  if (status === "connected") {
    const latency = latency_ms === null ? "" : `, ${latency_ms.toFixed(1)} ms away`;
    const heard = last_heard_at ? `, ${formatHeard(now - Date.parse(last_heard_at))}` : "";
    return ["ok", "BUS_CONNECTED", `connected to ${url}${latency}${heard}`];
  }
  if (status === "connecting" && reason === null) {
    return ["note", "BUS_CONNECTING", `connecting to ${url}`, "mesh machines"];
  }
  const why = reason ?? `${url} cannot be reached`;
  if (/no permission|does not know|must allow|does not permit/.test(why)) {
    const fix = "where the bus is served, run the line that `mesh machines join` prints here: " +
      "mesh machines allow …";
    return ["error", "BUS_NOT_PERMITTED", why, fix];
  }
  const fix = "check that the server runs and can be reached; messages to other machines wait";
  return ["error", "BUS_DOWN", why, fix];
}

/** Reports a refused copy on both machines, because the original must act, too. */
function identityFindings({ identity_in_use: duplicate }: Bus): CheckResult[] {
  if (duplicate?.this_one !== "connected") return [];
  const detail =
    `a second daemon has this machine's identity (${duplicate.place}); it is refused as ` +
    "long as this one is connected";
  return [["warning", "BUS_SECOND_DAEMON", detail, "there: mesh machines renew-identity"]];
}

/** Daemons of earlier versions do not report refusals. */
function refusalFindings({ refused = [], refused_by = [] }: Partial<Bus>): CheckResult[] {
  const detailOf = ({ name, daemon_id, reason, detail }: Refusal, what: string) =>
    `${name ?? daemon_id} ${what} (${reason}): ${detail}`;
  return [
    ...refused_by.map((refusal): CheckResult => {
      const detail = detailOf(refusal, "refuses this machine");
      return ["error", "MACHINE_REFUSED_BY", detail, refusal.hint];
    }),
    ...refused.map((refusal): CheckResult => {
      const detail = detailOf(refusal, "is refused here");
      return ["warning", "MACHINE_REFUSED", detail, refusal.hint];
    }),
  ];
}

/** Reports that no circle is shared, which is the default: other machines see no peer of ours. */
function sharingFindings({ shared_circles }: Bus, machines: readonly Machine[]): CheckResult[] {
  if (shared_circles.length > 0 || machines.length === 0) return [];
  const detail = "this machine shares no circle, so the other machines see no peer of it";
  return [["note", "BUS_SHARES_NOTHING", detail, "mesh config set mesh.bus.allow CIRCLE"]];
}

function storeFindings(
  { waiting_at_bus: waiting, bytes_at_bus: bytes, bytes_at_bus_max: max }: Bus,
): CheckResult[] {
  const found: CheckResult[] = [];
  if (waiting !== null && waiting > LAG_WARNING) {
    const detail = `${waiting} batches wait at the bus for this machine, which does not keep up`;
    found.push(["warning", "BUS_LAG", detail, "see `mesh logs`, and how busy this machine is"]);
  }
  if (bytes === null || max === null || max <= 0) return found;
  const percent = Math.round(bytes / max * 100);
  if (bytes < max * FILL_WARNING) {
    return [...found, ["ok", "BUS_ROOM", `the store of the bus is ${percent} % full`]];
  }
  const severity = bytes < max * FILL_ERROR ? "warning" : "error";
  const fix = "find machines that are gone with `mesh machines`, forget them, or raise the " +
    "limits of the server";
  return [...found, [severity, "BUS_FULL", `the store of the bus is ${percent} % full`, fix]];
}

function clockFindings({ name, clock_ahead_ms: ahead }: Machine): CheckResult[] {
  if (ahead === null) return [];
  const off_ms = Math.abs(ahead);
  if (off_ms <= CLOCK_WARNING_MS) return [["ok", "BUS_CLOCK", `${name} has the same time`]];
  const severity = off_ms > CLOCK_ERROR_MS ? "error" : "warning";
  const where = ahead > 0 ? "ahead of" : "behind";
  const detail = `the clock of ${name} is ${formatDuration(off_ms)} ${where} this one`;
  return [[severity, "BUS_CLOCK_OFF", detail, "set both clocks by the network (NTP)"]];
}

function waitingFindings(machine: Machine): CheckResult[] {
  const { name, status, waiting, last_seen } = machine;
  if (status === "online" || waiting === 0) return [];
  const what = waiting === 1 ? "1 message or report waits" : `${waiting} messages and reports wait`;
  const since = last_seen === null
    ? "has never been seen"
    : `was last seen at ${formatInstant(last_seen)}`;
  const fix = `start its daemon; if it is gone for good: mesh machines forget ${name}`;
  return [["warning", "MACHINE_OFFLINE", `${what} for ${name}, which ${since}`, fix]];
}
