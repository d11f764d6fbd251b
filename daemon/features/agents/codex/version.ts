/** The release of Codex that its shared server was tested with, in `tests/e2e/agents/codex_test.ts`. */

import { isLaterPatch } from "../versions.ts";

export const TESTED_VERSION = "0.169.0";

/** Other lines, older patches and previews have a protocol that was not tested. */
export function isTested(version: string): boolean {
  return isLaterPatch(version, TESTED_VERSION);
}
