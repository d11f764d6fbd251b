/** The rungs that `mesh selftest` saw fail: read from the state directory, again when it changes. */

import type { Backend } from "../contract.ts";
import { readTextOrNothing } from "../../../host/paths.ts";
import { type Verdicts, verdictsIn } from "./contract.ts";

/** What is known of the rungs of each agent; they are tried all the same, only last. */
export interface Marks {
  /** Looks whether something new was found. */
  look(): void;
  /** Why a rung to such an agent is degraded; undefined where none has failed. */
  degraded(backend: Backend | null, rung: string): string | undefined;
}

export function marksIn(path: string): Marks {
  let changed_at: number | undefined;
  let verdicts: Verdicts | undefined;
  return {
    look() {
      const at = changeOf(path);
      if (at === changed_at) return;
      changed_at = at;
      verdicts = verdictsIn(readTextOrNothing(path) ?? "");
    },
    degraded(backend, rung) {
      const tested = backend && verdicts?.agents[backend];
      if (!tested) return undefined;
      const found = Object.entries(tested.rungs).find(([name]) => name === rung)?.[1];
      if (!found?.degraded) return undefined;
      return `${found.why ?? "it failed"} (mesh selftest, ${tested.version})`;
    },
  };
}

/** When a file was changed last; undefined when there is none. */
function changeOf(path: string): number | undefined {
  try {
    return Deno.statSync(path).mtime?.getTime();
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return undefined;
    throw fault;
  }
}
