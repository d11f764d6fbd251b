/** `mesh doctor` names jobs that an idle agent has, and templates that wait for a job. */

import assert from "node:assert/strict";
import { thisMachine } from "../../../cli/doctor/machine.ts";
import { takeSnapshot } from "../../../cli/doctor/snapshot.ts";
import { createDaemonClient } from "../../../cli/client/daemon_client.ts";
import { readClientSettings } from "../../../cli/client/settings.ts";
import { FakeClock } from "../../support/clock.ts";
import { doctorFixture, listeningDaemon } from "../../support/cli/doctor_fixture.ts";
import { connectWorker, create, createRecurring, update } from "../../support/daemon/jobs.ts";
import { JOBS } from "../../../cli/doctor/peers.ts";

Deno.test("a job that runs with an idle agent is named, and a template that waits for one", async () => {
  using p = doctorFixture();
  await using at = listeningDaemon();
  p.env["MESH_DAEMON__PORT"] = at.port;
  const { w } = at;
  const found = async () => {
    const { env } = p;
    const client = createDaemonClient(env, false, readClientSettings(env));
    const clock = new FakeClock(new Date(w.clock.now()).toISOString());
    const snapshot = await takeSnapshot(env, clock, () => client);
    return await JOBS.run(thisMachine(env, clock), snapshot);
  };
  const api = await connectWorker(w);
  await createRecurring(w, { title: "Look", assigned_peer: "api", cron: "*/10 * * * *" });
  assert.equal((await found())[0]?.[1], "JOBS_SOUND");
  await w.tick(600);
  await api.receipt("accepted");
  await api.socket.send({ type: "status", status: "online", turn_state: "idle" });
  const { job_id } = await create(w, { title: "Mend", assigned_peer: "api" });
  await api.beginTurn();
  assert.deepEqual((await found()).map(([, code]) => code), ["JOBS_SOUND"], "it has just begun");
  await w.tick(90);
  const results = await found();
  assert.deepEqual(results.map(([severity, code]) => [severity, code]), [
    ["warning", "JOB_IDLE"],
    ["warning", "JOB_IDLE"],
  ]);
  assert(results.some(([, , detail]) => detail.startsWith(`${job_id} is running since`)));
  await update(w, job_id, { phase: "waiting_for_ci" });
  await w.tick(90);
  assert.equal((await found()).length, 1, "its executor holds it open");
});
