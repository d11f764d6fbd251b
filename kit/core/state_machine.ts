/** State machines as transition tables. Each row is one sentence of the specification. */

import { CommonProblem } from "kit/core/problem.ts";

/** A row may name several states from which the same event leads to the same state. */
type TransitionRow = readonly [from: string | readonly string[], on: string, to: string];

export interface StateMachine<S extends string, E extends string> {
  readonly name: string;
  /** The rows, each with a single state on its left side. */
  readonly rows: readonly (readonly [from: S, on: E, to: S])[];
  readonly states: readonly S[];
  /** The state after the event `on`. Throws `illegal_transition` if no row matches. */
  step(from: S, on: E): S;
  /** True if a row exists for the event `on` in the state `from`. */
  accepts(from: S, on: E): boolean;
  /** True when no row leaves `state`. */
  isFinal(state: S): boolean;
}

type One<T> = T extends readonly (infer S)[] ? S : T;
type State<R extends readonly TransitionRow[]> = (One<R[number][0]> | R[number][2]) & string;
type Event<R extends readonly TransitionRow[]> = R[number][1];
export type StateOf<M extends { states: readonly string[] }> = M["states"][number];
export type EventOf<M extends { rows: readonly TransitionRow[] }> = M["rows"][number][1];

export function stateMachine<const R extends readonly TransitionRow[]>(
  name: string,
  table: R,
): StateMachine<State<R>, Event<R>> {
  type Row = readonly [from: State<R>, on: Event<R>, to: State<R>];
  const rows = table.flatMap(([from, on, to]) =>
    [from].flat().map((state) => [state, on, to] as Row)
  );
  const next = new Map(rows.map(([from, on, to]) => [`${from} ${on}`, to]));
  if (next.size !== rows.length) {
    throw new Error(`Machine "${name}" has two rows for one state and event`);
  }
  const nonFinal = new Set<string>(rows.map(([from]) => from));
  return {
    name,
    rows,
    states: [...new Set(rows.flatMap(([from, , to]) => [from, to]))],
    step(from, on) {
      const to = next.get(`${from} ${on}`);
      if (to === undefined) {
        throw new CommonProblem("illegal_transition", { machine: name, from, on });
      }
      return to;
    },
    accepts: (from, on) => next.has(`${from} ${on}`),
    isFinal: (state) => !nonFinal.has(state),
  };
}
