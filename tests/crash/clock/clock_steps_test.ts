/** Real programs whose clock is set: daemon and relay, and machines whose clocks differ. */

import assert from "node:assert/strict";
import { notifyPeer } from "protocol/notifications.ts";
import { obstacle as natsObstacle } from "../../support/nats/nats_tests.ts";
import { temporary } from "../../support/programs/child.ts";
import { AnsweringPeer } from "../../support/real_machines/answering_peer.ts";
import { RealNetwork } from "../../support/real_machines/real_network.ts";
import { until } from "../../support/waiting.ts";
import { setClock, STEPS } from "./clock_steps.ts";
import { clockTest, MovedClock } from "./moved_clock.ts";

const DAY_MS = 86_400_000;

clockTest("a daemon and a relay go on when their clock is set, and after a night", async () => {
  assert.deepEqual(await setClock(STEPS), []);
});

if (natsObstacle() === undefined) {
  clockTest(
    "a machine whose clock is 2 days ahead, and then is set, exchanges messages",
    async () => {
      using folder = temporary();
      const clock = new MovedClock(folder.path, 2 * DAY_MS);
      await using network = await RealNetwork.start();
      const laptop = await network.join("laptop");
      const buildbox = await network.join("buildbox", { settings: clock.env });
      await using web = await AnsweringPeer.connect(laptop, "web");
      await using api = await AnsweringPeer.connect(buildbox, "api");
      await network.sees(laptop, "api@buildbox");
      await network.sees(buildbox, "web@laptop");
      for (const ms of [0, -2 * 3_600_000]) {
        clock.step(ms);
        const [there, back] = [`there ${ms}`, `back ${ms}`];
        await laptop.call(notifyPeer, {
          body: { from_peer: "web", to_peer: "api@buildbox", text: there },
        });
        await buildbox.call(notifyPeer, {
          body: { from_peer: "api", to_peer: "web@laptop", text: back },
        });
        await until(
          `the messages after a step by ${ms} ms`,
          () =>
            api.client.appliedContents.includes(there) && web.client.appliedContents.includes(back),
        );
      }
    },
  );
}
