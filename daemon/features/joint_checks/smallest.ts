/** Finds the smallest first parts of two works that fail together. */

/** The last index of each part. */
export interface Parts {
  readonly first: number;
  readonly second: number;
}

/**
 * Halves the first work, then the second, as long as the rest still fails. The whole must fail
 * together. `fails` gives undefined where that is not known, which counts as not failing.
 */
export async function smallestParts(
  { first, second }: Parts,
  fails: (parts: Parts) => Promise<boolean | undefined>,
): Promise<Parts> {
  const smallest_first = await smallestIndex(first, (at) => fails({ first: at, second }));
  const smallest_second = await smallestIndex(
    second,
    (at) => fails({ first: smallest_first, second: at }),
  );
  return { first: smallest_first, second: smallest_second };
}

/** The lowest index that fails, if every higher one does. */
async function smallestIndex(
  last: number,
  fails: (at: number) => Promise<boolean | undefined>,
): Promise<number> {
  let low = 0, high = last;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await fails(middle)) high = middle;
    else low = middle + 1;
  }
  return high;
}
