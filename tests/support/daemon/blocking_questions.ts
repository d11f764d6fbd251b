/** Helpers for blocking questions, and a world whose daemon can end and restart under them. */

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

/** A running request, and whether its response has arrived. */
export async function startAskBlocking(w: World, more: Record<string, unknown> = {}) {
  const pending = { done: false, answer: askBlocking(w, more) };
  pending.answer = pending.answer.finally(() => pending.done = true);
  await w.clock.settle();
  return pending;
}

/** The same, for a caller that disconnects when `hangUpSignal` aborts. */
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

/** A world whose daemon can restart on the same file, or on the file that a crash left. */
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
    /** Starts another daemon on a copy of the file as `kill -9` would leave it. */
    startFromCrash: () => {
      for (const end of ["", "-wal"]) {
        Deno.copyFileSync(pathOf(directory, `mesh.db${end}`), pathOf(directory, `crash.db${end}`));
      }
      return start("crash.db");
    },
    [Symbol.dispose]: () => Deno.removeSync(directory, { recursive: true }),
  };
}
