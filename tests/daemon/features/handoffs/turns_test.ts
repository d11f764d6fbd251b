import assert from "node:assert/strict";
import { lastTurns } from "../../../../daemon/features/handoffs/turns.ts";

const ENTRY = {
  at: null,
  kind: "text",
  tool: null,
  call: null,
  outcome: null,
  text: "x",
  chars: 1,
  masked: 0,
} as const;

/** The last turns of a session of which each read finds one entry. */
async function turnsOf(read: (before: number) => { before: number | null; cut?: boolean }) {
  let reads = 0;
  const transcripts = {
    read(peer_id: string, { before = 1_000 }: { before?: number | undefined }) {
      reads++;
      assert(reads < 1_000, "it reads for ever");
      const page = { cut: false, ...read(before) };
      const entries = [{ ...ENTRY, position: before - 1 }];
      const session = { peer_id, name: "api", backend: "gemini", session_id: "s-1" };
      return Promise.resolve({ ...session, entries, ...page });
    },
  };
  const requester = { peer_id: "p", isHuman: false, isElsewhere: false };
  const found = await lastTurns(transcripts, { peer_id: "p", count: 10, requester });
  return { reads, left_out: found.left_out };
}

Deno.test("turns from a position that does not move are not read again, and the position is named", async () => {
  const why = "the earlier part of its session's file cannot be read";
  const left_out = [{ what: "earlier turns", why }];
  assert.deepEqual(await turnsOf(() => ({ before: 500 })), { reads: 2, left_out });
  const cut = await turnsOf((before) => ({
    before: before === 1_000 ? 500 : null,
    cut: before < 1_000,
  }));
  assert.deepEqual(cut, { reads: 2, left_out });
  assert.deepEqual(await turnsOf(() => ({ before: null })), { reads: 1, left_out: [] });
});

Deno.test("at most 20 pages are read for a hand-over, and the rest is named", async () => {
  assert.deepEqual(await turnsOf((before) => ({ before: before - 1 })), {
    reads: 20,
    left_out: [{ what: "earlier turns", why: "its session is longer than a hand-over reads" }],
  });
});
