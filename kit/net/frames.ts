/** Sockets, read safely: a union of frames, and one handler for each. */

import { invalidRequest, Problem } from "kit/core/problem.ts";
import { tryJson } from "kit/core/text.ts";
import type * as z from "zod";

type Frame = { type: string };
type Handlers<S, F extends Frame> = {
  [T in F["type"]]: (session: S, frame: Extract<F, { type: T }>) => void;
};

/** What a session must bear: the sentence that a bad frame is answered with. */
export interface FrameRejecter {
  rejectFrame(detail: string): void;
}

/** A request as a socket. Half a handshake is a mistake of the caller's, and no fault of ours. */
export function acceptWebSocket(request: Request): Deno.WebSocketUpgrade {
  try {
    return Deno.upgradeWebSocket(request, { idleTimeout: 0 });
  } catch (error) {
    throw new Problem("upgrade_required", {}, error);
  }
}

/** A missing handler does not compile. A bad frame is answered; it never throws. */
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

/** Does `work` once everything that this turn of the loop has started is under way. */
export function nextTurn(work: () => void): void {
  setImmediate(work);
}

const STABLE_TURNS = 100;
const TURNS_MAX = 5000;

/** Does `work` once a count has stood still for some turns, or will not. */
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
