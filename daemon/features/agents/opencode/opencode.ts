/** opencode: its plugin holds a socket; its pane is for an opencode that has no plugin. */

import type { Clock } from "kit/core/clock.ts";
import { type IsAlive, isAlive } from "../../../host/processes.ts";
import type { Adapter, Addressee, Rung, Sighting } from "../adapter.ts";
import { type PaneOptions, paneRung } from "../pane.ts";
import { opencodeScreen } from "./screen.ts";
import { resume } from "./sessions.ts";

/**
 * A plugin connects within a second of its start, and within five of the daemon's; and what is
 * pasted in the first five seconds of an opencode is lost (1.18.33).
 */
const PLUGIN_MS_MAX = 15_000;
/** What waits is tried every second: after a longer pause the wait begins anew. */
const PAUSE_MS_MAX = 5_000;

export interface OpencodeOptions extends Omit<PaneOptions, "screen" | "dialogKnown"> {
  /** Where opencode keeps its sessions, e.g. `~/.local/share/opencode`. */
  readonly data_dir: string;
}

/** Proved with 1.18.33. Whoever has the plugin is reached by its socket before any of this. */
export function opencodeAdapter(options: OpencodeOptions): Adapter {
  const pane = patient(
    paneRung({
      ...options,
      screen: opencodeScreen,
      dialogKnown: ({ turn_state }) => Promise.resolve(turn_state === "awaiting_input"),
    }),
    options.clock,
  );
  return {
    backend: "opencode",
    rungs: () => [pane],
    transport: ({ pane_id }) => pane_id === null ? "none" : "pane",
    sight: (peer) => Promise.resolve(sight(peer, options.isAlive)),
    resume: (session) => Promise.resolve(resume(options.data_dir, session)),
  };
}

/** Its turns are its plugin's to tell. */
function sight(
  { agent_pid, agent_started }: Addressee,
  lives: IsAlive = isAlive,
): Sighting | undefined {
  if (agent_pid === null) return undefined;
  const alive = lives(agent_pid, agent_started ?? undefined);
  return { alive, turn_state: null, source: "process table" };
}

/** A rung that is tried only when no plugin has come in good time for what waits. */
function patient(rung: Rung, clock: Clock): Rung {
  const waits = new Map<string, { readonly since: number; readonly last: number }>();
  const waited = ({ peer_id, agent_pid, agent_started }: Addressee) => {
    const now = clock.now();
    for (const [key, { last }] of waits) if (now - last > PAUSE_MS_MAX) waits.delete(key);
    const key = `${peer_id} ${agent_pid} ${agent_started}`;
    const { since } = waits.get(key) ?? { since: now };
    waits.set(key, { since, last: now });
    return now - since;
  };
  return {
    name: rung.name,
    check: (peer, parcel) =>
      waited(peer) < PLUGIN_MS_MAX
        ? Promise.resolve({ ready: false, reason: "plugin_awaited" })
        : rung.check(peer, parcel),
    deliver: (peer, parcel) => rung.deliver(peer, parcel),
  };
}
