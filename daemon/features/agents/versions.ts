/** Compares an agent's release with the one that mesh was tested with. */

/** The line of a release: `2.1` of `2.1.329`. */
export function lineOf(version: string): string {
  return version.split(".").slice(0, 2).join(".");
}

/** Whether a release is of the tested line, and its patch the tested one or a later one. */
export function isLaterPatch(version: string, tested: string): boolean {
  const line = `${lineOf(tested)}.`;
  if (!version.startsWith(line)) return false;
  const patch = version.slice(line.length);
  return /^\d+$/.test(patch) && Number(patch) >= Number(tested.slice(line.length));
}
