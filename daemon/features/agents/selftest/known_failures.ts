/**
 * Transports that `mesh selftest` saw fail, read from the state directory when the file changes.
 */

import type { Backend } from "../contract.ts";
import { readTextOrNothing } from "../../../host/paths.ts";
import { parseVerdicts, type Verdicts } from "./contract.ts";

/** The known failures of each agent's transports. These transports are tried last. */
export interface KnownFailures {
  /** Reads the file again if it changed. */
  refresh(): void;
  /** Why a transport to such an agent is degraded; undefined if it has not failed. */
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

/** When a file was last modified; undefined if there is none. */
function modifiedAt(path: string): number | undefined {
  try {
    return Deno.statSync(path).mtime?.getTime();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
