/** A copied state directory: two real daemons with one id on one bus. */

import assert from "node:assert/strict";
import { getMessage } from "protocol/messages/log.ts";
import { natsTest } from "../../support/nats/nats_tests.ts";
import { busOf, NOTES, withCopy } from "../../support/real_machines/copied_machine.ts";
import { until } from "../../support/waiting.ts";

natsTest(
  "a copy of a machine is refused, both say so, and every message arrives once",
  async () => {
    await using at = await withCopy();
    const { laptop, buildbox, copy, docs, api, copied } = at;
    const bus = await until("the copy to be refused", async () => {
      const found = await busOf(copy);
      return found.identity_in_use ? found : undefined;
    });
    assert.deepEqual([bus.status, bus.identity_in_use?.this_one], ["down", "refused"]);
    assert.equal((await busOf(buildbox)).identity_in_use?.this_one, "connected");
    assert.match((await copy.mesh("machines")).out, /renew-identity/);
    assert.match((await copy.mesh("status")).out, /another daemon has the identity/);
    assert.match((await buildbox.mesh("machines")).out, /second daemon/);
    assert.match((await copy.mesh("doctor")).out, /another daemon has the identity/);
    assert.match((await buildbox.mesh("doctor")).out, /second daemon/);

    const down = await at.send(laptop, docs.id, "api@buildbox", "down");
    const up = await at.send(buildbox, api.id, "docs@laptop", "up");
    const waiting = await at.send(copy, copied.id, "docs@laptop", "copy");
    await until("all notes", () => api.texts.length === NOTES && docs.texts.length === NOTES);
    await buildbox.kill();
    await buildbox.start();
    await buildbox.waitForConnection();
    await api.reconnect();
    await at.send(laptop, docs.id, "api@buildbox", "again");
    await until("the notes after the restart", () => api.texts.length === 2 * NOTES);

    assert.equal(new Set(api.texts).size, 2 * NOTES);
    assert.equal(new Set(docs.texts).size, NOTES);
    assert.equal(docs.texts.length, NOTES);
    assert.deepEqual(copied.texts, []);
    for (const message_id of waiting) {
      const { state, reason } = await copy.call(getMessage, { params: { id: message_id } });
      assert.deepEqual([state, reason], ["queued", "bus_unreachable"]);
    }
    assert.equal(new Set([...down, ...up]).size, 2 * NOTES);
  },
);
