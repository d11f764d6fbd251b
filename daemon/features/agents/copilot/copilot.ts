/** Copilot CLI: its pane is the only way in; its records and its hooks tell of its turns. */

import { type IsAlive, isAlive } from "../../../host/processes.ts";
import type { Adapter, Addressee, Sighting } from "../adapter.ts";
import { type PaneOptions, paneRung } from "../pane.ts";
import { copilotScreen } from "./screen.ts";
import { type Doing, Records, resumeOf } from "./sessions.ts";

export interface CopilotOptions extends Omit<PaneOptions, "screen"> {
  /** Copilot CLI's folder, e.g. `~/.copilot`. */
  readonly config_dir: string;
}

export function copilotAdapter(options: CopilotOptions): Adapter {
  const { config_dir, isAlive: lives = isAlive } = options;
  const records = new Records(config_dir);
  const pane = paneRung({
    ...options,
    screen: copilotScreen,
    dialogKnown: (peer) => Promise.resolve(toldOf(records, peer)?.turn_state === "awaiting_input"),
  });
  return {
    backend: "copilot",
    rungs: () => [pane],
    transport: ({ pane_id }) => pane_id === null ? "none" : "pane",
    sight: (peer) => Promise.resolve(sight(peer, records, lives)),
    resume: (session) => Promise.resolve(resumeOf(config_dir, session)),
  };
}

/**
 * No hook tells that a dialog was dismissed, or a turn broken off: the records do. They are written
 * a moment late, so that what a hook has told since stands; and what they tell is as old as they
 * say, or the next record, of a moment before this look, would be no news.
 */
function sight(peer: Addressee, records: Records, lives: IsAlive): Sighting | undefined {
  const { agent_pid, agent_started } = peer;
  if (agent_pid === null) return undefined;
  const alive = lives(agent_pid, agent_started ?? undefined);
  const doing = alive ? toldOf(records, peer) : undefined;
  if (!doing) return { alive, turn_state: null, source: "process table" };
  const { turn_state, model, at } = doing;
  const isNews = at > (peer.turn_at ?? 0);
  return { alive, turn_state: isNews ? turn_state : null, model, source: "session records", at };
}

function toldOf(records: Records, peer: Addressee): Doing | undefined {
  const { runtime_session_id: id, agent_pid } = peer;
  return id === null || agent_pid === null ? undefined : records.doingOf(id, agent_pid);
}
