/** Reads a session file's evidence about an open question, again only after the file changed. */

import { changedAt, readTail } from "../../../host/agent_files.ts";
import type { Evidence, WaitingCall } from "../adapter.ts";

/** Bytes read from the end of the file. The records since an open dialog are shorter. */
const TAIL_BYTES = 1_048_576;

/** The evidence that was last read for a call, and the file's time of change then. */
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
