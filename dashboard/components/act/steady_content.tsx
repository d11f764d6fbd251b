/** Content that is not rendered again while its record is the same. */

import type { ComponentChildren, VNode } from "preact";
import { useMemo } from "preact/hooks";

interface SteadyProps {
  /** The values that the content shows, apart from signals that its own components read. */
  readonly of: readonly unknown[];
  readonly children: () => VNode;
}

/** Renders its content again only if one of the values of `of` has changed. */
export function Steady({ of, children }: SteadyProps): ComponentChildren {
  return useMemo(children, of);
}
