/** The visible results of a storm, as lines that do not depend on its folder. */

import type { Actor } from "./actor.ts";
import type { Snapshot } from "./snapshot.ts";

/** The part of a storm that is traced. */
interface StormView {
  readonly directory: string;
  readonly actors: readonly Actor[];
  readonly w: { readonly clock: { now(): number } };
}

type Trace = (line: string) => void;

export function traceRequest(storm: StormView, request: readonly unknown[], trace: Trace): void {
  trace(
    plain(storm, request.map((part) => typeof part === "string" ? part : toJson(part)).join(" ")),
  );
}

/** The records and the clients after a step. */
export function traceStep(storm: StormView, now: Snapshot, trace: Trace): void {
  for (const { name, socket } of storm.actors) {
    if (socket) trace(plain(storm, `${name}: ${toJson(socket.frames)}`));
  }
  const { last_event, messages, inboxItems, attempts } = now;
  const maps = [now.peers, now.jobs, now.templates].map((rows) => [...rows.values()]);
  const records = [storm.w.clock.now(), last_event, messages, inboxItems, attempts, ...maps];
  trace(plain(storm, toJson(records)));
}

function toJson(value: unknown): string {
  return JSON.stringify(value) ?? "";
}

/** A certificate, which names the folder of its peer. */
const CERTIFICATE = /"eyJ[\w.-]+"/g;

/** Without the name of the folder, which is a new one in each run. */
function plain({ directory }: Pick<StormView, "directory">, line: string): string {
  return line.replaceAll(directory, "/project").replaceAll(CERTIFICATE, '"certificate"');
}
