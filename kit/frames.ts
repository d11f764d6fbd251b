/** Sockets, read safely: a union of frames, and one handler for each. */

import { invalidRequest } from "kit/problem.ts";
import { tryJson } from "kit/text.ts";
import type { z } from "zod";

type Frame = { type: string };
type Handlers<S, F extends Frame> = {
  [T in F["type"]]: (session: S, frame: Extract<F, { type: T }>) => void;
};

/** What a session must bear: the sentence that a bad frame is answered with. */
export interface Correctable {
  correct(detail: string): void;
}

/** A missing handler does not compile. A bad frame is answered; it never throws. */
export function dispatcher<S extends Correctable, U extends z.ZodType<Frame>>(
  union: U,
  on: Handlers<S, z.output<U>>,
) {
  return (session: S, text: string): void => {
    const json = tryJson(text);
    if (json === undefined) return session.correct("The frame is not JSON");
    const frame = union.safeParse(json);
    if (!frame.success) {
      return session.correct(invalidRequest(frame.error).fields.summary);
    }
    const take = on[frame.data.type as keyof typeof on] as (session: S, frame: Frame) => void;
    take(session, frame.data);
  };
}

/** Does `work` once everything that this turn of the loop has started is under way. */
export function nextTurn(work: () => void): void {
  setImmediate(work);
}
