/** The release of Claude Code that the socket was tested with, in `tests/e2e/agents/claude_adapter_test.ts`. */

import { isLaterPatch } from "../versions.ts";

export const TESTED_VERSION = "2.1.329";
const TESTED_PROTOCOL = 1;

/** A session's own record of what it is. */
export interface Release {
  readonly version: string;
  readonly peerProtocol?: number | undefined;
}

/**
 * The socket never answers: a release that drops our line looks like one that takes it. A later
 * patch is trusted while it reports the same protocol; older patches and other lines get their
 * messages through the pane.
 */
export function isTested({ version, peerProtocol }: Release): boolean {
  return peerProtocol === TESTED_PROTOCOL && isLaterPatch(version, TESTED_VERSION);
}
