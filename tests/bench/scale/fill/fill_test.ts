/** A filled database is one that a daemon could have written. */

import assert from "node:assert/strict";
import { temporary } from "../../../support/programs/child.ts";
import { keyedIdCodec } from "../../../../daemon/features/messages/id_codec.ts";
import { addPeer, get } from "../../../support/daemon/peer_clients.ts";
import { world } from "../../../support/world.ts";
import { fillMessages } from "./messages.ts";
import { RARE_WORD } from "./texts.ts";

for (const open of [false, true]) {
  Deno.test(`${open ? "open asks" : "messages"} of a fill pass the daemon's own audit`, async () => {
    using state = temporary();
    const at = { db_path: `${state.path}/mesh.db`, idCodec: keyedIdCodec };
    {
      await using w = world(at);
      await addPeer(w, "ada");
      await addPeer(w, "bob");
    }
    fillMessages(at.db_path, { count: 20, count_max: 5001, open });
    fillMessages(at.db_path, { count: 5001, count_max: 5001, open });
    await using w = world(at);
    let finished = false;
    const audit = get(w, "/deliveries").finally(() => finished = true);
    while (!finished) await w.clock.advance(0);
    const { counts, unaccounted } = await audit;
    assert.deepEqual([counts, unaccounted], [{ accepted: 5001 }, []]);
    const found = await get(w, `/messages?q=${RARE_WORD}`);
    assert.equal(found.messages.length, 1);
    const { message_id } = found.messages[0];
    assert.equal((await get(w, `/asks/${message_id}`)).state, open ? "open" : "closed");
  });
}
