/** Shortened ids in lists, which commands accept in place of the whole ids. */

/** The digits of a shortened id, unless another one begins with them. */
const DIGITS_MIN = 4;

/** The shortest form of each id that no other id of the list begins with, in the same order. */
export function shortIds(ids: readonly string[]): Map<string, string> {
  const sorted = [...new Set(ids)].sort();
  return new Map(sorted.map((id, at) => {
    const neighbours = [sorted[at - 1], sorted[at + 1]].filter((neighbour) =>
      neighbour !== undefined
    );
    const shared = Math.max(0, ...neighbours.map((neighbour) => commonLength(id, neighbour)));
    return [id, id.slice(0, Math.max(id.lastIndexOf("-") + 1 + DIGITS_MIN, shared + 1))];
  }));
}

function commonLength(a: string, b: string): number {
  const at = [...a].findIndex((letter, index) => letter !== b[index]);
  return at === -1 ? a.length : at;
}
