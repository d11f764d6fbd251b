/** Import cycles, found as strongly connected components (Tarjan, 1972). */

import type { Source } from "../tidy/sources.ts";

/** Groups of files that import each other, largest first; type and lazy imports included. */
export function cyclesIn(
  files: readonly Pick<Source, "path" | "imports">[],
): string[][] {
  const edges = new Map(
    files.map(({ path, imports }) => [path, imports.map(({ to }) => to)]),
  );
  const numbers = new Map<
    string,
    { index: number; low: number; open: boolean }
  >();
  const stack: string[] = [];
  const cycles: string[][] = [];
  const visit = (path: string) => {
    const own = { index: numbers.size, low: numbers.size, open: true };
    numbers.set(path, own);
    stack.push(path);
    for (const to of edges.get(path) ?? []) {
      if (!edges.has(to)) continue;
      const other = numbers.get(to) ?? visit(to);
      if (other.open) own.low = Math.min(own.low, other.low);
    }
    if (own.low !== own.index) return own;
    const group = stack.splice(stack.indexOf(path));
    for (const member of group) {
      const known = numbers.get(member);
      if (known) known.open = false;
    }
    if (group.length > 1) cycles.push(group.sort());
    return own;
  };
  for (const path of edges.keys()) if (!numbers.has(path)) visit(path);
  return cycles.sort((a, b) => b.length - a.length);
}
