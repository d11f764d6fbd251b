/** A checked answer between two real daemons; the one that checks is killed meanwhile. */

import assert from "node:assert/strict";
import { getAsk, openAsk } from "protocol/asks/contract.ts";
import { natsTest } from "../../support/nats/nats_tests.ts";
import { temporary } from "../../support/programs/child.ts";
import { AnsweringPeer } from "../../support/real_machines/answering_peer.ts";
import { RealNetwork } from "../../support/real_machines/real_network.ts";
import { until } from "../../support/waiting.ts";

/** Waits for the file `exit`, and ends with its content. */
const CHECK = 'while ! test -s "$0/exit"; do sleep 0.02; done; exit "$(cat "$0/exit")"';

natsTest(
  "kill -9 of the machine that checks an answer: the outcome arrives once, on its word",
  async () => {
    using control = temporary();
    await using network = await RealNetwork.start();
    const laptop = await network.join("laptop");
    const buildbox = await network.join("buildbox", {
      settings: {
        MESH_JOBS__CHECKS: JSON.stringify({ tests: { argv: ["sh", "-c", CHECK, control.path] } }),
        MESH_SPAWN__ALLOWED_PATHS: JSON.stringify([control.path]),
      },
    });
    await buildbox.mesh("config", "set", "mesh.bus.allow_prove", '["laptop"]');
    await buildbox.stop();
    await buildbox.start();
    await using web = await AnsweringPeer.connect(laptop, "web");
    await using api = await AnsweringPeer.connect(buildbox, "api", "Done", control.path);
    await network.sees(laptop, "api@buildbox");
    const body = { from_peer: web.id, to_peer: "api@buildbox", text: "Fix it", prove: ["tests"] };
    const id = (await laptop.call(openAsk, { body })).correlation_id ?? "";
    const asked = await until("the ask", () => api.frames.find(({ type }) => type === "ask"));
    const params = { id: asked.correlation_id ?? "" };
    await until("the check", async () => {
      return (await buildbox.call(getAsk, { params })).proof?.state === "proving";
    });
    await buildbox.kill();
    await buildbox.start();
    await api.reconnect();
    Deno.writeTextFileSync(`${control.path}/exit`, "0\n");
    await until("the answer", () => web.client.appliedContents.includes(`end of ${id}`));
    const { reply, proof } = await laptop.call(getAsk, { params: { id } });
    assert.deepEqual([reply, proof?.state, proof?.machine], ["Done", "verified", "buildbox"]);
    assert.equal(web.frames.filter(({ type }) => type === "ack").length, 1);
    assert.match((await laptop.mesh("show", id)).out, /By the word of buildbox: Holds: the check/);
  },
);
