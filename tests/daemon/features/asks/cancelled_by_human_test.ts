/** The human cancels an ask between others: in the human's own name, and both are told. */

import assert from "node:assert/strict";
import {
  addPeer,
  ask,
  connectPeer,
  get,
  post,
  signIn,
} from "../../../support/daemon/peer_clients.ts";
import { world } from "../../../support/world.ts";

function withHuman() {
  return world({ settings: { "human.name": "sam" } });
}

Deno.test("an ask that the human cancels is closed by the human, and both sides are notified", async () => {
  await using w = withHuman();
  const [ada, eve] = [await connectPeer(w, "ada"), await connectPeer(w, "eve")];
  const id = await ask(w, "ada", "eve");
  const cancel = { peer_id: "dashboard", reason: "Not today" };
  const { close_reason } = await post(w, `/asks/${id}/cancel`, cancel, await signIn(w));
  assert.equal(close_reason, "cancelled");
  await w.clock.settle();
  const { outcome, responder, reply_voice, reply } = await get(w, `/asks/${id}`);
  assert.deepEqual(
    [outcome, responder, reply_voice, reply],
    ["cancelled", "sam", "human", "Not today"],
  );
  for (const side of [ada, eve]) {
    assert.partialDeepStrictEqual(side.of("ack").at(-1), {
      correlation_id: id,
      close_reason: "cancelled",
      from_peer: "sam",
      voice: "human",
      text: "Not today",
    });
  }
});

Deno.test("a caller that only claims to be the human may not cancel another's ask", async () => {
  await using w = withHuman();
  for (const name of ["ada", "eve"]) await addPeer(w, name);
  const id = await ask(w, "ada", "eve");
  const refused = await post(w, `/asks/${id}/cancel`, { peer_id: "sam" });
  assert.deepEqual([refused.status, refused.error], [403, "not_the_asker"]);
});

Deno.test("an ask that its asker cancels is closed by the asker, and only the recipient is notified", async () => {
  await using w = withHuman();
  const [ada, eve] = [await connectPeer(w, "ada"), await connectPeer(w, "eve")];
  const id = await ask(w, "ada", "eve");
  await post(w, `/asks/${id}/cancel`, { peer_id: "ada" });
  await w.clock.settle();
  assert.equal((await get(w, `/asks/${id}`)).responder, "ada");
  assert.deepEqual([ada.of("ack").length, eve.of("ack").length], [0, 1]);
});

Deno.test("cancelling the human's own ask, or an ask to the human, does not notify the human", async () => {
  await using w = withHuman();
  await addPeer(w, "ada");
  const headers = await signIn(w);
  const own = await ask(w, "sam", "ada");
  await post(w, `/asks/${own}/cancel`, { peer_id: "sam" }, headers);
  assert.equal((await get(w, `/asks/${own}`)).reply_voice, "human");
  const received = await ask(w, "ada", "sam");
  await post(w, `/asks/${received}/cancel`, { peer_id: "sam" }, headers);
  const { items } = await get(w, "/inbox");
  assert.deepEqual(
    items.map(({ correlation_id }: { correlation_id: string }) => correlation_id),
    [received],
  );
});

Deno.test("another peer may not cancel", async () => {
  await using w = withHuman();
  for (const name of ["ada", "bob", "eve"]) await addPeer(w, name);
  const id = await ask(w, "ada", "bob");
  for (const peer_id of ["bob", "eve", "nobody"]) {
    const refused = await post(w, `/asks/${id}/cancel`, { peer_id });
    assert.deepEqual([refused.status, refused.error], [403, "not_the_asker"]);
  }
});

Deno.test("a note in the inbox names the question that was cancelled", async () => {
  await using w = withHuman();
  await addPeer(w, "ada");
  for (
    const [reason, text] of [
      [undefined, "(cancelled) May I deploy?"],
      ["Never mind", "Never mind\n\n(cancelled) May I deploy?"],
    ]
  ) {
    const id = await ask(w, "ada", "sam", "May I deploy?");
    await post(w, `/asks/${id}/cancel`, { peer_id: "ada", reason });
    const { items } = await get(w, "/inbox");
    assert.deepEqual([items[0].kind, items[0].text], ["notify", text]);
  }
});
