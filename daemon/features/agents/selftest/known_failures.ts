/** Transports that failed in `mesh selftest`. The file is read again when it changes. */

import type { Backend } from "protocol/agents/contract.ts";
import { readTextOrNothing } from "../../../host/paths.ts";
import { parseVerdicts, type Verdicts } from "protocol/agents/selftest.ts";
import { unlessMissing } from "kit/host/file_errors.ts";

/** The known failures of each agent's transports. These transports are tried last. */
export type KnownFailures = ReturnType<typeof knownFailuresAt>;

export function knownFailuresAt(path: string) {
  let modified_at: number | undefined;
  let verdicts: Verdicts | undefined;
  return {
    /** Reads the file again if it changed. */
    refresh(): void {
      const at = unlessMissing(() => Deno.statSync(path))?.mtime?.getTime();
      if (at === modified_at) return;
      modified_at = at;
      verdicts = parseVerdicts(readTextOrNothing(path) ?? "");
    },
    /** The file's verdict on each agent; undefined if there is no readable file. */
    verdicts: (): Verdicts | undefined => verdicts,
    /** The failure of a transport to such an agent; undefined if it has not failed. */
    degraded(backend: Backend | null, transport: string): string | undefined {
      const record = backend && verdicts?.agents[backend];
      if (!record) return undefined;
      const found = Object.entries(record.transports).find(([name]) => name === transport)?.[1];
      if (!found?.degraded) return undefined;
      return `${found.why ?? "it failed"} (mesh selftest, ${record.version})`;
    },
  };
}
