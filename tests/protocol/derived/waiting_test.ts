/** The order of what waits for the human. */

import assert from "node:assert/strict";
import { blockedBehind, byUrgency } from "protocol/derived/waiting.ts";
import type { Ask } from "../../../dashboard/state/records.ts";

/** An open ask, created at a minute of one hour. */
function ask(from: string, to: string, minute: number, blocking?: boolean): Ask {
  const question = blocking === undefined ? null : { kind: "text", blocking };
  const created_at = `2026-11-22T10:${String(minute).padStart(2, "0")}:00.000Z`;
  const fields = { from_peer_id: from, from_peer_name: from, to_peer_id: to, to_peer_name: to };
  return { ...fields, question, created_at } as Ask;
}

Deno.test("the peers behind an ask are those that wait for its asker, and for them", () => {
  const open = [ask("web", "api", 3), ask("docs", "web", 1), ask("api", "sam", 9)];
  open.push(ask("tests", "db", 0));
  assert.deepEqual(blockedBehind(ask("api", "sam", 9), open), {
    names: ["web", "docs"],
    since: "2026-11-22T10:01:00.000Z",
  });
});

Deno.test("peers that wait for each other are named once, and the asker not at all", () => {
  const open = [ask("web", "api", 1), ask("api", "web", 2), ask("web", "api", 3)];
  assert.deepEqual(blockedBehind(ask("api", "sam", 0), open).names, ["web"]);
});

Deno.test("blocking questions come first, then asks that hold up others, then the oldest", () => {
  const asks = [
    ask("old", "sam", 1),
    ask("api", "sam", 8),
    ask("db", "sam", 9, true),
    ask("form", "sam", 2, false),
    ask("new", "sam", 7),
  ];
  const open = [...asks, ask("web", "api", 5)];
  const ranked = asks.map((ask) => ({ ask, behind: blockedBehind(ask, open) })).sort(byUrgency);
  const names = ranked.map(({ ask }) => ask.from_peer_name);
  assert.deepEqual(names, ["db", "api", "form", "old", "new"]);
});
