/** Shrinks a list of steps that fails to a short one that fails too (delta debugging). */

/** Maximum shorter lists that are tried. */
const TRIES_MAX = 400;

/**
 * Leaves out as many steps as it can, in parts of half the list down to single steps. `fails` runs
 * a list.
 */
export async function shrink(
  steps: readonly number[],
  fails: (fewer: readonly number[]) => Promise<boolean>,
): Promise<readonly number[]> {
  let least = steps;
  let tries = 0;
  for (let size = Math.ceil(least.length / 2); size >= 1; size = Math.floor(size / 2)) {
    let hasShrunk = true;
    while (hasShrunk && tries < TRIES_MAX) {
      hasShrunk = false;
      for (let at = 0; at < least.length && tries < TRIES_MAX; tries++) {
        const shorter = least.toSpliced(at, size);
        if (await fails(shorter)) [least, hasShrunk] = [shorter, true];
        else at += size;
      }
    }
  }
  return least;
}
