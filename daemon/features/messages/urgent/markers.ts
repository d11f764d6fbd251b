/** Marker files: one for each kind of agent for which an urgent message waits. */

import { dirname } from "kit/core/path.ts";
import type { Log } from "kit/core/log.ts";
import { markerPath, removeIfPresent } from "../../../host/paths.ts";
import { unlessMissing } from "kit/host/file_errors.ts";

export interface Markers {
  /** Makes the markers of these agents, and removes all others. */
  keep(agents: ReadonlySet<string>): void;
}

/**
 * If a marker cannot be written, for example on a full disk, hooks stay silent and the messages
 * wait.
 */
export class MarkerFiles implements Markers {
  readonly #state_dir: string;
  readonly #log: Log;
  /** True if files of an earlier daemon may exist. */
  #maybeStale = true;
  #kept: ReadonlySet<string> = new Set();

  constructor(state_dir: string, log: Log) {
    this.#state_dir = state_dir;
    this.#log = log;
  }

  keep(agents: ReadonlySet<string>): void {
    try {
      if (this.#maybeStale) this.#removeAll();
      for (const agent of this.#kept) {
        if (!agents.has(agent)) removeIfPresent(markerPath(this.#state_dir, agent));
      }
      // Each marker is written again, because a hook that finds no daemon removes it.
      for (const agent of agents) this.#write(markerPath(this.#state_dir, agent));
      this.#kept = new Set(agents);
    } catch (error) {
      this.#log.warn("The markers of urgent messages cannot be written", { error });
    }
  }

  #write(path: string): void {
    Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    Deno.writeTextFileSync(path, "", { mode: 0o600 });
  }

  #removeAll(): void {
    const dir = dirname(markerPath(this.#state_dir, "any"));
    for (const { name } of unlessMissing(() => [...Deno.readDirSync(dir)]) ?? []) {
      Deno.removeSync(`${dir}/${name}`);
    }
    this.#maybeStale = false;
  }
}
