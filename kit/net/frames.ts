/** WebSocket frames: a union of schemas validates them, and each frame type has a handler. */

import { CommonProblem, invalidRequest } from "kit/core/problem.ts";
import { tryJson } from "kit/core/text.ts";
import type * as z from "zod";

type Frame = { type: string };
type Handlers<S, F extends Frame> = {
  [T in F["type"]]: (session: S, frame: Extract<F, { type: T }>) => void;
};

/** A session that can report an invalid frame to its sender. */
interface FrameRejecter {
  rejectFrame(detail: string): void;
}

/** Upgrades a request to a WebSocket. An incomplete handshake is a 426, not a 500. */
export function acceptWebSocket(request: Request): Deno.WebSocketUpgrade {
  try {
    return Deno.upgradeWebSocket(request, { idleTimeout: 0 });
  } catch (error) {
    throw new CommonProblem("upgrade_required", {}, error);
  }
}

/** Passes each frame to the handler of its type, and rejects invalid frames. */
export function frameHandler<S extends FrameRejecter, U extends z.ZodType<Frame>>(
  union: U,
  handlers: Handlers<S, z.output<U>>,
) {
  return (session: S, text: string): void => {
    const json = tryJson(text);
    if (json === undefined) return session.rejectFrame("The frame is not JSON");
    const frame = union.safeParse(json);
    if (!frame.success) {
      return session.rejectFrame(invalidRequest(frame.error).fields.summary);
    }
    const handler = handlers[frame.data.type as keyof typeof handlers] as (
      session: S,
      frame: Frame,
    ) => void;
    handler(session, frame.data);
  };
}

/** Runs `work` in the next turn of the event loop. */
export function nextTurn(work: () => void): void {
  setImmediate(work);
}

const STABLE_TURNS = 100;
const TURNS_MAX = 5000;

/** Runs `work` once `count()` has not changed for 100 event loop turns, or after 5000 turns. */
export function whenStable(count: () => number, work: () => void): void {
  let [before, stableTurns, turns] = [count(), 0, 0];
  nextTurn(function check() {
    const now = count();
    stableTurns = now === before ? stableTurns + 1 : 0;
    before = now;
    if (stableTurns >= STABLE_TURNS || ++turns >= TURNS_MAX) work();
    else nextTurn(check);
  });
}
