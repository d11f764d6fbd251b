/** The first steps, shown while there is no agent. */

import { Act } from "../components/basics.tsx";
import { Command } from "../components/copy.tsx";
import { canPlayDemo, startDemo } from "../state/demo.ts";
import { SpawnButton, SpawnWindow } from "./spawn/spawn_button.tsx";
import { Orphans } from "./spawn/orphans.tsx";

const STEPS = [
  ["Connect your agents", "mesh setup"],
  ["Start one in tmux", "tmux new -s work claude"],
  ["Ask it something", 'mesh ask NAME "What are you working on?" --wait'],
] as const;

export function FirstRun() {
  return (
    <section class="empty">
      <p class="title">No agents yet</p>
      <ol class="stack">
        {STEPS.map(([title, command]) => (
          <li key={command}>
            {title}
            <Command text={command} />
          </li>
        ))}
      </ol>
      <p class="hint">This page shows the first agent as soon as it is there.</p>
      {canPlayDemo && (
        <p>
          <Act run={startDemo}>Show a demo with two agents</Act>
        </p>
      )}
      <SpawnButton />
      <Orphans />
      <SpawnWindow />
    </section>
  );
}
