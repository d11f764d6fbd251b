/** The sentences on what peers and started agents wait for. */

import assert from "node:assert/strict";
import { spawnSentence, waitSentence, waitState } from "protocol/derived/waits.ts";
import type { Peer } from "protocol/wire.ts";
import { peerOf } from "../../support/dashboard/records.ts";

type Wait = NonNullable<Peer["waits_for"]>;

/** Local times, so that the sentence is the same in every time zone. */
const SINCE = new Date(2030, 0, 15, 12, 0).toISOString();
const TODAY = new Date(2030, 0, 15, 14, 50).toISOString();
const LATER = new Date(2030, 0, 17, 9, 5).toISOString();

function sentence(wait: Partial<Wait> & Pick<Wait, "kind">, peer: Partial<Peer> = {}) {
  const waits_for = { since: SINCE, source: "hook", detail: null, resets_at: null, ...wait };
  return waitSentence(peerOf({ name: "api", pane_id: "%3", path: "/x", waits_for, ...peer }));
}

Deno.test("the sentence names the peer, what it waits for, and what to do", () => {
  const inTerminal = "api waits for its user in its terminal: mesh attach api";
  assert.equal(sentence({ kind: "dialog" }), inTerminal);
  assert.equal(sentence({ kind: "permission" }), inTerminal);
  assert.equal(
    sentence({ kind: "permission", detail: "Bash" }),
    `${inTerminal} (it asks for permission to use Bash)`,
  );
  assert.equal(sentence({ kind: "question" }), `${inTerminal} (it asks a question)`);
  assert.equal(
    sentence({ kind: "trust" }),
    "api asks if it may trust the folder /x: mesh attach api",
  );
  assert.equal(
    sentence({ kind: "trust", detail: "hooks" }),
    "api asks if it may run its hooks: mesh attach api",
  );
  assert.equal(sentence({ kind: "login" }), "api wants its user to log in: mesh attach api");
});

Deno.test("the sentence on a limit says when it resets, with the date on another day", () => {
  assert.equal(sentence({ kind: "limit" }), "api is out of its usage limit");
  assert.equal(
    sentence({ kind: "limit", resets_at: TODAY }),
    "api is out of its usage limit until 14:50",
  );
  assert.equal(
    sentence({ kind: "limit", resets_at: LATER }),
    "api is out of its usage limit until 09:05 on Thu Jan 17 2030",
  );
  assert.equal(
    sentence({ kind: "limit", detail: "five_hour", resets_at: TODAY }),
    "api is out of its five-hour limit until 14:50",
  );
  assert.equal(sentence({ kind: "limit", detail: "rate" }), "api is throttled by its provider");
  assert.equal(
    sentence({ kind: "limit", detail: "billing" }),
    "api cannot go on: its account has no credit left",
  );
});

Deno.test("a question in the inbox is answered there, and a dialog beside it in either place", () => {
  const wait = { kind: "permission", source: "inbox" } as const;
  assert.equal(
    sentence(wait, { turn_state: "working" }),
    "api waits for its user in the inbox: mesh inbox",
  );
  assert.equal(
    sentence(wait, { turn_state: "awaiting_input" }),
    "api waits for its user in its terminal: mesh attach api, or in the inbox: mesh inbox",
  );
});

Deno.test("for a peer of another machine the sentence says on which machine to act", () => {
  const remote = { display_name: "api@buildbox", machine: "buildbox", transport: "bus" } as const;
  const expected = "api@buildbox wants its user to log in: on buildbox, mesh attach api";
  assert.equal(sentence({ kind: "login" }, { ...remote, pane_id: null }), expected);
  assert.equal(sentence({ kind: "login" }, { ...remote, name: "api@buildbox" }), expected);
});

Deno.test("without a pane no command is named, and without a wait there is no sentence", () => {
  assert.equal(
    sentence({ kind: "dialog" }, { pane_id: null }),
    "api waits for its user in its terminal",
  );
  assert.equal(waitSentence(peerOf({ name: "api", waits_for: null })), undefined);
  const older = { name: "api", turn_state: "awaiting_input" } as const;
  assert.equal(waitSentence(peerOf(older)), "api waits for its user in its terminal");
  assert.equal(waitSentence(peerOf({ ...older, status: "offline" })), undefined);
});

Deno.test("a folder or a tool of any text stays on one line of bounded length", () => {
  const text = sentence({ kind: "trust" }, { path: `/a\n\u202e${"b".repeat(500)}` }) ?? "";
  assert.doesNotMatch(text, /[\n\u202e]/);
  assert.ok(text.length < 300);
});

Deno.test("lists name a limit and a login in a few words, and dialogs by the turn state", () => {
  const stateOf = (kind: Wait["kind"]) =>
    waitState(
      peerOf({
        name: "api",
        waits_for: { kind, since: SINCE, source: "x", detail: null, resets_at: null },
      }),
    );
  assert.deepEqual(
    [stateOf("limit"), stateOf("login"), stateOf("permission")],
    ["at its limit", "wants a login", "awaiting_input"],
  );
});

Deno.test("a started agent is named with its folder, its pane and the command that leads there", () => {
  const agent = { name: "api", backend: "codex", path: "/x", pane_id: "%3", attach: "%3" };
  assert.equal(
    spawnSentence({ ...agent, wait: { kind: "trust", detail: null } }),
    "api (codex in /x) waits at a dialog in pane %3: it asks if it may trust the folder /x. " +
      "It goes on once a person has acted there: mesh attach %3",
  );
});
