/** The transports that failed in `mesh selftest`, read from the state directory on each change. */

import type { Backend } from "../contract.ts";
import { readTextOrNothing } from "../../../host/paths.ts";
import { parseVerdicts, type Verdicts } from "./contract.ts";

/** What is known of the transports of each agent; they are tried all the same, only last. */
export interface KnownFailures {
  /** Looks whether something new was found. */
  refresh(): void;
  /** Why a transport to such an agent is degraded; undefined where none has failed. */
  degraded(backend: Backend | null, transport: string): string | undefined;
}

export function knownFailuresAt(path: string): KnownFailures {
  let modified_at: number | undefined;
  let verdicts: Verdicts | undefined;
  return {
    refresh() {
      const at = modifiedAt(path);
      if (at === modified_at) return;
      modified_at = at;
      verdicts = parseVerdicts(readTextOrNothing(path) ?? "");
    },
    degraded(backend, transport) {
      const record = backend && verdicts?.agents[backend];
      if (!record) return undefined;
      const found = Object.entries(record.transports).find(([name]) => name === transport)?.[1];
      if (!found?.degraded) return undefined;
      return `${found.why ?? "it failed"} (mesh selftest, ${record.version})`;
    },
  };
}

/** When a file was changed last; undefined when there is none. */
function modifiedAt(path: string): number | undefined {
  try {
    return Deno.statSync(path).mtime?.getTime();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
