/** Types keys into a pane, as a person at its terminal does. */

import type { Failure } from "../../host/tmux/connection.ts";
import type { PreparedKeys, TerminalServer } from "../../host/terminals/terminal_server.ts";
import type { KeyResult } from "./adapter.ts";
import type { Key } from "protocol/agents/contract.ts";
import {
  type Inspection,
  lostReason,
  typeIfUnchanged,
  unreachableReason,
} from "./pane_inspection.ts";

/** A program draws while a person types, so the pane may change between a check and the keys. */
const TRIES_MAX = 5;

interface Typing {
  /** If there are none, the pane is only checked. */
  readonly keys: readonly Key[];
  /** True if the person accepts a draft. The draft may then change at any time. */
  readonly draft_may_change: boolean;
}

/** Types all keys or none. Call it with the pane locked. */
export async function typeKeys(
  server: TerminalServer,
  inspect: () => Promise<Inspection>,
  { keys, draft_may_change }: Typing,
): Promise<KeyResult> {
  const first = await inspect();
  if (!first.ok) return { state: "refused", reason: first.reason };
  if (keys.length === 0) return { state: "typed", overruled: first.overruled };
  const ready = await server.prepare(keys);
  if (!ready.ok) return { state: "refused", reason: unreachableReason(server) };
  const result = await tryToType(inspect, ready.prepared, draft_may_change);
  if (result.state !== "typed") await ready.prepared.discard();
  return result;
}

async function tryToType(
  inspect: () => Promise<Inspection>,
  prepared: PreparedKeys,
  draft_may_change: boolean,
): Promise<KeyResult> {
  for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
    const inspection = await inspect();
    if (!inspection.ok) return { state: "refused", reason: inspection.reason };
    const typed = await typeIfUnchanged(inspection, prepared, { draft_may_change });
    if (typed === "done") return { state: "typed", overruled: inspection.overruled };
    if (typed === "unmarked") return { state: "refused", reason: "unmarked_paste" };
    if (typed !== "changed") return resultOfFailure(inspection.server, typed);
  }
  return { state: "refused", reason: "changed" };
}

/** After an error of one command of tmux, the commands before it have run. */
function resultOfFailure(server: TerminalServer, { reason }: Failure): KeyResult {
  const mayHaveRun = reason === "lost" || reason === "timeout" || reason === "error";
  return mayHaveRun
    ? { state: "unclear", reason: lostReason(server) }
    : { state: "refused", reason: unreachableReason(server) };
}
