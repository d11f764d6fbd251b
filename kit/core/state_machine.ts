/** State machines as transition tables. Each row is one sentence of the specification. */

import { Problem } from "kit/core/problem.ts";

type TransitionRow = readonly [from: string, on: string, to: string];

export interface StateMachine<R extends readonly TransitionRow[]> {
  readonly name: string;
  readonly rows: R;
  readonly states: readonly State<R>[];
  /** The state after the event `on`. Throws `illegal_transition` if no row matches. */
  step(from: State<R>, on: Event<R>): State<R>;
  /** Whether a row exists for the event `on` in the state `from`. */
  accepts(from: State<R>, on: Event<R>): boolean;
  /** True when no row leaves `state`. */
  isFinal(state: State<R>): boolean;
}

type State<R extends readonly TransitionRow[]> = R[number][0] | R[number][2];
type Event<R extends readonly TransitionRow[]> = R[number][1];
export type StateOf<M> = M extends StateMachine<infer R> ? State<R> : never;
export type EventOf<M> = M extends StateMachine<infer R> ? Event<R> : never;

export function stateMachine<const R extends readonly TransitionRow[]>(
  name: string,
  rows: R,
): StateMachine<R> {
  const next = new Map(rows.map(([from, on, to]) => [`${from} ${on}`, to]));
  if (next.size !== rows.length) {
    throw new Error(`Machine "${name}" has two rows for one state and event`);
  }
  const nonFinal = new Set<string>(rows.map(([from]) => from));
  const states = [...new Set(rows.flatMap(([from, , to]) => [from, to]))] as State<R>[];
  return {
    name,
    rows,
    states,
    step(from, on) {
      const to = next.get(`${from} ${on}`);
      if (to === undefined) {
        throw new Problem("illegal_transition", { machine: name, from, on });
      }
      return to as State<R>;
    },
    accepts: (from, on) => next.has(`${from} ${on}`),
    isFinal: (state) => !nonFinal.has(state),
  };
}
