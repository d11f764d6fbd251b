/** Finds the word of a list that a mistyped one probably stands for. */

/** The candidate that the word was probably meant to be; undefined if none is near. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const typed = word.toLowerCase();
  const ranked = [...new Set(candidates)].flatMap((candidate) => {
    const rank = rankOf(typed, candidate.toLowerCase());
    return rank === undefined ? [] : [{ candidate, rank }];
  });
  return ranked.sort((a, b) => a.rank - b.rank || (a.candidate < b.candidate ? -1 : 1))[0]
    ?.candidate;
}

/** A lower rank is nearer; undefined if the two are too different. */
function rankOf(typed: string, candidate: string): number | undefined {
  if (typed.length >= 2 && candidate.startsWith(typed)) return 0;
  const edits = editDistance(typed, candidate);
  if (edits <= Math.max(1, Math.floor(typed.length / 3))) return edits;
  return typed.length >= 3 && candidate.includes(typed) ? typed.length : undefined;
}

/** The number of letters to add, remove, replace or swap with their neighbour. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (beforeLast[column - 2] ?? Infinity) + 1 : Infinity,
      );
    }
    [beforeLast, last] = [last, current];
  }
  return last[b.length] ?? 0;
}
