/** Questions whose askers wait on the line, and houses whose daemon may end under them. */

import { join as pathOf } from "node:path";
import { FakeClock } from "../clock.ts";
import { countingIds } from "../ids.ts";
import { FakeProcesses, type World, world } from "../world.ts";
import { post } from "./peer_clients.ts";

export const withHuman = (more: Record<string, string> = {}) =>
  world({ settings: { "human.name": "sam", ...more } });

export const ALLOW_OR_DENY = [{ id: "allow", title: "Allow" }, { id: "deny", title: "Deny" }];
export const PERMISSION = {
  prompt: "Run rm?",
  options: ALLOW_OR_DENY,
  scope: "tool_permission",
  correlation_id: "toolu_01",
};
export const DECISION = { ...PERMISSION, scope: "deploy" };

export function askBlocking(w: World, more: Record<string, unknown> = {}) {
  return post(w, "/questions/ask-blocking", { ...PERMISSION, ...more });
}

/** A request that is under way, and whether it has been answered yet. */
export async function startAskBlocking(w: World, more: Record<string, unknown> = {}) {
  const pending = { done: false, answer: askBlocking(w, more) };
  pending.answer = pending.answer.finally(() => pending.done = true);
  await w.clock.settle();
  return pending;
}

/** The same, of a caller that hangs up when `gone` says so. */
export async function askBlockingUntil(
  w: World,
  hangUpSignal: AbortSignal,
  more: Record<string, unknown> = {},
) {
  const body = JSON.stringify({ ...PERMISSION, ...more });
  const pending = w.fetch("/questions/ask-blocking", {
    method: "POST",
    body,
    signal: hangUpSignal,
  });
  await w.clock.settle();
  return pending.then((answer) => answer.json(), () => undefined);
}

/** A house whose daemon may end and start again on the same file, or on what a crash left of it. */
export function restartableDaemon() {
  const directory = Deno.makeTempDirSync();
  const shared = { clock: new FakeClock(), ids: countingIds(), processes: new FakeProcesses() };
  const start = (name: string) =>
    world({
      ...shared,
      db_path: pathOf(directory, name),
      settings: { "human.name": "sam" },
    });
  return {
    start: () => start("mesh.db"),
    /** What the disk holds now, as `kill -9` leaves it, under another daemon. */
    startFromCrash: () => {
      for (const end of ["", "-wal"]) {
        Deno.copyFileSync(pathOf(directory, `mesh.db${end}`), pathOf(directory, `crash.db${end}`));
      }
      return start("crash.db");
    },
    [Symbol.dispose]: () => Deno.removeSync(directory, { recursive: true }),
  };
}
