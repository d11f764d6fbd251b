/** Reads what a session file says of an open question, again only after the file has changed. */

import { changedAt, readTail } from "../../../host/agent_files.ts";
import type { Evidence, WaitingCall } from "../adapter.ts";

/** How much of a session file is read: more than the records since any open dialog. */
const TAIL_BYTES = 1_048_576;

/** What was last read for a call, and when the file had changed then. */
const read = new WeakMap<
  WaitingCall,
  { readonly at: number; readonly found: readonly Evidence[] }
>();

export function evidenceIn(
  file: string | undefined,
  call: WaitingCall,
  readEvidence: (text: string, call: WaitingCall) => readonly Evidence[],
): readonly Evidence[] {
  const at = file === undefined ? undefined : changedAt(file);
  if (file === undefined || at === undefined) return [];
  const known = read.get(call);
  if (known?.at === at) return known.found;
  const found = readEvidence(readTail(file, TAIL_BYTES) ?? "", call);
  read.set(call, { at, found });
  return found;
}
