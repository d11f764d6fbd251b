/** Marker files: made, removed, and cleaned up after a daemon that was killed. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { MarkerFiles } from "../../../../daemon/features/messages/urgent_messages.ts";
import { markerPath } from "../../../../daemon/host/paths.ts";
import { silent } from "../../../support/host/private_tmux.ts";

class State implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-markers-" });

  get markers(): string[] {
    try {
      return Array.from(Deno.readDirSync(join(this.dir, "urgent")), ({ name }) => name).sort();
    } catch {
      return [];
    }
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

Deno.test("markers are made for the agents that need one, and removed from all others", () => {
  using state = new State();
  const files = new MarkerFiles(state.dir, silent);
  files.keep(new Set());
  assert.deepEqual(state.markers, []);
  files.keep(new Set(["codex", "gemini"]));
  assert.deepEqual(state.markers, ["codex", "gemini"]);
  files.keep(new Set(["gemini"]));
  assert.deepEqual(state.markers, ["gemini"]);
  const { mode } = Deno.statSync(markerPath(state.dir, "gemini"));
  assert.equal((mode ?? 0) & 0o777, 0o600);
});

Deno.test("a marker that was removed by a hook is made again while its message waits", () => {
  using state = new State();
  const files = new MarkerFiles(state.dir, silent);
  files.keep(new Set(["codex"]));
  Deno.removeSync(markerPath(state.dir, "codex"));
  files.restore();
  assert.deepEqual(state.markers, ["codex"]);
});

Deno.test("a daemon that starts removes the markers of one that was killed", () => {
  using state = new State();
  new MarkerFiles(state.dir, silent).keep(new Set(["codex", "gemini"]));
  new MarkerFiles(state.dir, silent).keep(new Set(["copilot"]));
  assert.deepEqual(state.markers, ["copilot"]);
});

Deno.test("a folder that cannot be written stops nothing", () => {
  using state = new State();
  Deno.writeTextFileSync(join(state.dir, "urgent"), "a file in its place");
  new MarkerFiles(state.dir, silent).keep(new Set(["codex"]));
});
