/** Programs that act as agents in a real tmux: who has the pane, and who speaks from its shells. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { CallersFixture, has } from "../../support/e2e/callers_fixture.ts";
import { until } from "../../support/waiting.ts";

/**
 * An agent: `start NAME BACKEND` registers it by its hook, `say TEXT` sends a command of its shell,
 * and `await_file NAME` waits for the test.
 */
const AGENT = `
PATH=$HOME:$PATH
export CLAUDE_PID=$$ MESH_AGENT_PID=$$
me=$1 backend=$2
hook() {
  printf '{"session_id":"s-%s","cwd":"/","hook_event_name":"%s","source":"startup"}' "$me" "$1" |
    mesh hook $backend $1
}
say() { mesh notify victim "$1" > /dev/null; }
await_file() { until [ -e "$HOME/$1" ]; do sleep 0.05; done; }
hook SessionStart
`;

interface Occupant {
  readonly pid: number;
  readonly pane: string | null;
  readonly status: string;
  readonly backend: string;
}

class PaneFixture extends CallersFixture {
  /** A program that acts as an agent, and what it does once it is registered. */
  write(name: string, script: string): void {
    Deno.writeTextFileSync(`${this.dir}/${name}`, `#!/bin/bash${AGENT}${script}`, { mode: 0o755 });
  }

  /** Lets the programs that wait for this file go on. */
  go(name: string): void {
    Deno.writeTextFileSync(`${this.dir}/${name}`, "");
  }

  /** Runs a command line in the pane of the person's one window. */
  type(line: string): void {
    this.tmux("-L", "person", "send-keys", "-t", "work", line, "Enter");
  }

  async peers(): Promise<Occupant[]> {
    const { peers } = await (await fetch(`${this.url}/peers`)).json();
    return peers.filter(({ name }: { name: string }) => name !== "victim" && name !== "sam")
      .map(({ agent_pid: pid, pane_id: pane, status, backend }: Record<string, unknown>) => ({
        pid,
        pane,
        status,
        backend,
      }));
  }

  /** The backend of the live peer that has the pane, once `isReady` holds of all peers. */
  async occupant(isReady: (peers: readonly Occupant[]) => boolean): Promise<string | undefined> {
    const peers = await until("the peers", async () => {
      const seen = await this.peers();
      return isReady(seen) && seen;
    });
    return peers.find(({ pane, status }) => pane !== null && status !== "offline")?.backend;
  }

  /** The backend of the sender of the message with this text, once it has arrived. */
  sender(text: string): Promise<string> {
    return until(`the message "${text}"`, () => {
      using db = new DatabaseSync(`${this.dir}/state/mesh.db`, { readOnly: true });
      const found = db.prepare(
        `select coalesce(peers.backend, from_peer_name) as who from messages
         left join peers on peers.peer_id = messages.from_peer_id where text = ?`,
      ).get(text);
      return found === undefined ? undefined : String(found["who"]);
    });
  }
}

const live = (backend: string) => (peers: readonly Occupant[]) =>
  peers.some((peer) => peer.backend === backend && peer.status !== "offline");
const gone = (backend: string) => (peers: readonly Occupant[]) =>
  peers.some((peer) => peer.backend === backend && peer.status === "offline");

function inPanes(name: string, test: (fixture: PaneFixture) => Promise<void>): void {
  const ignore = Deno.build.os !== "linux" || !has("tmux");
  Deno.test(name, { ignore }, async () => {
    await using fixture = new PaneFixture();
    await fixture.ready();
    fixture.tmux("-L", "person", "new-session", "-d", "-s", "work", "sh");
    await test(fixture);
  });
}

inPanes(
  "an agent that starts another one in its shell keeps its pane and speaks for itself",
  async (fixture) => {
    fixture.write("child", `say "of the child"; await_file end-child; hook SessionEnd`);
    fixture.write(
      "parent",
      `say before; ~/child c gemini & wait; say after; hook Stop; await_file end`,
    );
    fixture.type("~/parent p claude-code");
    assert.equal(await fixture.sender("before"), "claude-code");
    assert.equal(await fixture.sender("of the child"), "gemini");
    assert.equal(await fixture.occupant(live("gemini")), "claude-code", "meanwhile");
    fixture.go("end-child");
    assert.equal(await fixture.sender("after"), "claude-code");
    assert.equal(await fixture.occupant(gone("gemini")), "claude-code", "afterwards");
    fixture.go("end");
  },
);

inPanes(
  "two agents in one pane in turn; respawn-pane; a pane in another window",
  async (fixture) => {
    fixture.write("agent", `say "$me is here"; await_file "end-$me"`);
    fixture.type("~/agent first claude-code");
    assert.equal(await fixture.sender("first is here"), "claude-code");
    fixture.go("end-first");
    await fixture.occupant(gone("claude-code"));
    fixture.type("~/agent second gemini");
    assert.equal(await fixture.sender("second is here"), "gemini");
    assert.equal(await fixture.occupant(live("gemini")), "gemini");
    const respawn = [`${fixture.dir}/agent`, "third", "claude-code"];
    fixture.tmux("-L", "person", "respawn-pane", "-k", "-t", "work", ...respawn);
    assert.equal(await fixture.sender("third is here"), "claude-code");
    const isThird = (peers: readonly Occupant[]) =>
      live("claude-code")(peers) && gone("gemini")(peers);
    assert.equal(await fixture.occupant(isThird), "claude-code");
    fixture.tmux("-L", "person", "new-session", "-d", "-s", "other", "sh");
    fixture.tmux("-L", "person", "move-pane", "-s", "work:0.0", "-t", "other:0");
    assert.equal(await fixture.occupant(isThird), "claude-code", "in another window");
  },
);

inPanes(
  "a child that outlives its agent has the pane, unless it runs in another terminal",
  async (fixture) => {
    fixture.write("inside", `say "inside"; await_file end`);
    fixture.write("outside", `say "outside"; await_file end`);
    fixture.write(
      "parent",
      `~/inside i gemini & script -qec "~/outside o copilot" /dev/null > /dev/null & await_file end-parent`,
    );
    fixture.type("~/parent p claude-code");
    await fixture.sender("inside");
    await fixture.sender("outside");
    assert.equal(await fixture.occupant(live("gemini")), "claude-code");
    fixture.go("end-parent");
    assert.equal(await fixture.occupant(gone("claude-code")), "gemini");
    fixture.go("end");
  },
);

inPanes("a tmux in a tmux: each agent has the pane of its own server", async (fixture) => {
  fixture.write("inner", `say "in the inner one"; await_file end`);
  fixture.write(
    "outer",
    `tmux -L agent -f /dev/null new-session -d "~/inner i gemini"; say "in the outer one"; await_file end`,
  );
  fixture.type("~/outer o claude-code");
  assert.equal(await fixture.sender("in the inner one"), "gemini");
  assert.equal(await fixture.sender("in the outer one"), "claude-code");
  const peers = await fixture.peers();
  assert.deepEqual(peers.map(({ pane }) => pane), ["%0", "%0"]);
  fixture.go("end");
});
