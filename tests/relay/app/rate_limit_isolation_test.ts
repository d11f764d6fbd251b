/** Rate limits: one stranger or one tenant cannot use up the limits of others. */

import assert from "node:assert/strict";
import { jsonLog } from "kit/core/log.ts";
import { openRateLimits } from "../../../relay/app/rate_limits.ts";
import { SHARES_EACH_MAX } from "../../../relay/shares/shares.ts";
import {
  DAEMONS_OF_ADDRESS_MAX,
  MachineRegistry,
} from "../../../relay/daemons/machine_registry.ts";
import { FakeClock } from "../../support/clock.ts";
import {
  connectDaemon,
  NAMESPACE,
  relayFixture,
  SECRET,
} from "../../support/relay/composed_relay.ts";
import { daemonId } from "../../support/relay/relay_world.ts";

const open = () => openRateLimits({ clock: new FakeClock(), proxy: { mode: "direct" } });
const request = new Request("https://relay.test/");
const from = (hostname: string) => ({ transport: "tcp", hostname, port: 50_000 }) as const;

Deno.test("guests of one tenant's shares do not limit guests of another [c9.pace.lockout]", () => {
  const { guestAsks } = open();
  for (let share = 0; share < SHARES_EACH_MAX; share++) {
    for (let time = 0; time < 10; time++) guestAsks.acquire(`sh_attacker_${share}`);
  }
  assert.equal(guestAsks.acquire("sh_victim"), undefined);
});

Deno.test("a stranger with many IPv6 networks does not limit sign-ins, registrations or visits of others [c9.pace.lockout]", () => {
  const { login, register, shareVisits } = open();
  for (const pace of [login, register, shareVisits]) {
    for (let at = 0; at < 8000; at++) pace.take(request, from(`2001:db8:0:${at.toString(16)}::1`));
    assert.equal(pace.take(request, from("192.0.2.1")), undefined);
  }
});

Deno.test("a stranger with many sessions does not limit consent decisions of others [c9.pace.lockout]", () => {
  const { consents } = open();
  for (let session = 0; session < 200; session++) {
    for (let time = 0; time < 60; time++) consents.take(request, from("192.0.2.1"), `s${session}`);
  }
  assert.equal(consents.take(request, from("192.0.2.2"), "victim"), undefined);
});

Deno.test("one address cannot use up the limit of daemons [c9.pace.lockout]", () => {
  const clock = new FakeClock();
  const log = jsonLog(clock, "error", () => undefined);
  const machines = new MachineRegistry({ clock, log, recordRequest: () => undefined });
  const connection = { open: true, buffered: 0, send: () => undefined, close: () => undefined };
  const openSocket = (number: number, address: string) => {
    const identity = { namespace: `n${number}`, daemon_id: daemonId(1), address };
    machines.refuseIfFull(identity);
    let gone = () => undefined as void;
    machines.connect(identity, (ears) => {
      gone = () => ears.closed(1000, "");
      return { response: new Response(null), connection };
    });
    return gone;
  };
  const leave = openSocket(0, "192.0.2.1");
  for (let number = 1; number < DAEMONS_OF_ADDRESS_MAX; number++) openSocket(number, "192.0.2.1");
  assert.throws(() => openSocket(99_998, "192.0.2.1"), /too_many_daemons/);
  openSocket(99_999, "192.0.2.2");
  leave();
  openSocket(99_998, "192.0.2.1");
});

Deno.test("creating shares is rate-limited per address [c9.pace.lockout]", async () => {
  await using at = relayFixture();
  await using _w = connectDaemon(at, "dm-000000000001");
  at.limits.shareCreations.wait = 7;
  const requestCount = at.machines.forwarded.length;
  const answer = await at.send("/api/v1/shares", {
    method: "POST",
    headers: { authorization: `Bearer ${SECRET}` },
    body: JSON.stringify({ daemon_id: "dm-000000000001", peer_id: "peer-1" }),
  });
  assert.deepEqual([answer.status, answer.headers.get("retry-after")], [429, "7"]);
  assert.equal(at.machines.forwarded.length, requestCount);
  assert.ok(at.machines.list(NAMESPACE).length > 0);
});
