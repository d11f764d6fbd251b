/** Helpers for blocking questions. */

import { type World, world } from "../world.ts";
import { post } from "./peer_clients.ts";
import { restartableWorld } from "./restartable.ts";

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

/** A world with a human whose daemon can restart. */
export const restartableDaemon = () => restartableWorld({ settings: { "human.name": "sam" } });
