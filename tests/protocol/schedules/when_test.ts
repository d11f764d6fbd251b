/** The times that a schedule accepts, and its errors for any other. */

import assert from "node:assert/strict";
import { type World, world } from "../../support/world.ts";
import { addPeer, post } from "../../support/daemon/peer_clients.ts";
import { schedule } from "../../support/daemon/schedules.ts";

async function createPeers(): Promise<World> {
  const w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  return w;
}

// deno-fmt-ignore
const TIMES: readonly (readonly [pattern: string, meant: string])[] = [
  ["10m",                           "2030-01-01T00:10:00.000Z"],
  ["in 2h",                         "2030-01-01T02:00:00.000Z"],
  ["IN 2H",                         "2030-01-01T02:00:00.000Z"],
  ["1h30m",                         "2030-01-01T01:30:00.000Z"],
  ["1h 30m",                        "2030-01-01T01:30:00.000Z"],
  ["2d",                            "2030-01-03T00:00:00.000Z"],
  ["1w",                            "2030-01-08T00:00:00.000Z"],
  ["45s",                           "2030-01-01T00:00:45.000Z"],
  ["in 10 minutes",                 "2030-01-01T00:10:00.000Z"],
  ["1 hour 5 min",                  "2030-01-01T01:05:00.000Z"],
  ["0s",                            "2030-01-01T00:00:00.000Z"],
  [" 10m ",                         "2030-01-01T00:10:00.000Z"],
  ["2030-01-01T09:00:00Z",          "2030-01-01T09:00:00.000Z"],
  ["2030-01-01T09:00:00.5+01:00",   "2030-01-01T08:00:00.500Z"],
  ["2029-12-31T23:00:00-02:30",     "2030-01-01T01:30:00.000Z"],
  ["2029-12-31T23:59:01Z",          "2029-12-31T23:59:01.000Z"],
];

for (const [fire_at, meant] of TIMES) {
  Deno.test(`a schedule accepts "${fire_at}" as a time [c3.schedules.times]`, async () => {
    await using w = await createPeers();
    assert.equal((await schedule(w, { fire_at })).fire_at, meant);
  });
}

const VALID_SCHEDULE = { from_peer: "ada", to_peer: "bob", text: "Stand up" };
const AGO = "2029-12-31T23:58:59Z";

// deno-fmt-ignore
const INVALID: readonly (readonly [what: string, body: Record<string, unknown>, pattern: RegExp])[] = [
  ["neither time nor pattern",    { ...VALID_SCHEDULE },                                        /Exactly one of fire_at and cron/],
  ["both a time and a pattern",   { ...VALID_SCHEDULE, fire_at: "1h", cron: "@daily" },         /Exactly one of fire_at and cron/],
  ["a past instant",              { ...VALID_SCHEDULE, fire_at: AGO },                          /fire_at: 2029-12-31T23:58:59.000Z has passed: it is 2030-01-01T00:00:00.000Z now/],
  ["a time without an offset",    { ...VALID_SCHEDULE, fire_at: "2030-02-01T09:00:00" },        /is not an instant with its offset, such as/],
  ["a day that is none",          { ...VALID_SCHEDULE, fire_at: "2030-02-30T09:00:00Z" },       /"2030-02-30T09:00:00Z" is not an instant/],
  ["an unknown unit",         { ...VALID_SCHEDULE, fire_at: "10 parsecs" },                 /or a time from now, such as 10m, in 2h, 1h30m or 2d/],
  ["a unit twice",                { ...VALID_SCHEDULE, fire_at: "10m 5m" },                     /"10m 5m" is not/],
  ["units upside down",           { ...VALID_SCHEDULE, fire_at: "30m1h" },                      /"30m1h" is not/],
  ["a negative span",             { ...VALID_SCHEDULE, fire_at: "-10m" },                       /"-10m" is not/],
  ["an empty time",               { ...VALID_SCHEDULE, fire_at: "" },                           /"" is not/],
  ["a number for a time",         { ...VALID_SCHEDULE, fire_at: 600 },                          /fire_at: .*expected string/],
  ["more than ten years",         { ...VALID_SCHEDULE, fire_at: "99999d" },                     /fire_at: more than ten years away/],
  ["more than a date can hold",   { ...VALID_SCHEDULE, fire_at: "999999999w" },                 /fire_at: more than ten years away/],
  ["four fields",                 { ...VALID_SCHEDULE, cron: "* * * *" },                       /cron: five fields/],
  ["seconds",                     { ...VALID_SCHEDULE, cron: "0 * * * * *" },                   /cron: five fields/],
  ["an invalid minute",       { ...VALID_SCHEDULE, cron: "61 * * * *" },                    /cron: five fields/],
  ["a pattern that never fires",  { ...VALID_SCHEDULE, cron: "0 0 30 2 *" },                    /cron: a pattern that fires at all/],
  ["a zone that is none",         { ...VALID_SCHEDULE, cron: "@daily", timezone: "Mars/Base" }, /timezone: an IANA time zone/],
  ["a kind that is none",         { ...VALID_SCHEDULE, fire_at: "1h", kind: "shout" },          /kind: .*"notify"\|"ask"/],
  ["no text",                     { ...VALID_SCHEDULE, text: "", fire_at: "1h" },               /text: /],
  ["too long a text",             { ...VALID_SCHEDULE, text: "x".repeat(262_145), fire_at: "1h" }, /text: Longer than 262144 bytes/],
  ["no sender",                   { ...VALID_SCHEDULE, from_peer: "", fire_at: "1h" },          /from_peer: /],
  ["no recipient",                { ...VALID_SCHEDULE, to_peer: undefined, fire_at: "1h" },     /to_peer: /],
  ["a circle that is none",       { ...VALID_SCHEDULE, circle: "a b", fire_at: "1h" },          /circle: A name is/],
];

for (const [what, body, pattern] of INVALID) {
  Deno.test(`a schedule with ${what} is refused, with what is allowed`, async () => {
    await using w = await createPeers();
    const answer = await post(w, "/schedules", body);
    assert.deepEqual([answer.status, answer.error], [422, "invalid_request"]);
    assert.match(answer.detail, pattern);
    assert.ok(answer.issues.length > 0);
  });
}

Deno.test("an unknown, retired or ambiguous recipient is refused at once [c2.schedule.recipient]", async () => {
  await using w = await createPeers();
  await addPeer(w, "eve", { circle: "red" });
  await addPeer(w, "eve", { circle: "blue" });
  const tom = await addPeer(w, "tom");
  await post(w, `/peers/${tom.peer_id}/offline`, { terminal: true });
  const refusals: [string, string, number, string][] = [
    ["ada", "nobody", 404, "unknown_peer"],
    ["ada", "", 404, "unknown_peer"],
    ["ada", tom.peer_id, 409, "peer_retired"],
    ["cli", "eve", 409, "ambiguous_peer"],
  ];
  for (const [from_peer, to_peer, status, error] of refusals) {
    const body = { from_peer, to_peer, text: "Hi", fire_at: "1h" };
    const answer = await post(w, "/schedules", body);
    assert.deepEqual([answer.status, answer.error], [status, error], to_peer);
  }
  const { schedule_id } = await schedule(w);
  const patch = (body: unknown) => {
    const init = { method: "PATCH", body: JSON.stringify(body) };
    return w.fetch(`/schedules/${schedule_id}`, init);
  };
  assert.equal((await patch({ to_peer: "nobody" })).status, 404);
  assert.equal((await patch({ to_peer: "ada" })).status, 200);
  for (const body of [{}, { fire_at: AGO }, { fire_at: "1h", cron: "@daily" }, { text: "" }]) {
    assert.equal((await patch(body)).status, 422, JSON.stringify(body));
  }
  assert.equal((await patch({ text: null, fire_at: "1h" })).status, 422);
  assert.equal(
    (await patch({ cron: null, fire_at: "1h" })).status,
    200,
    "Null is as good as absent",
  );
  assert.equal((await w.fetch("/schedules/sched-0")).status, 404);
  assert.equal((await w.fetch("/schedules?state=paused")).status, 422);
  assert.equal((await w.fetch("/schedules?limit=0")).status, 422);
});

Deno.test("an instant that has just passed fires with the next tick", async () => {
  await using w = await createPeers();
  const { schedule_id } = await schedule(w, { fire_at: "2029-12-31T23:59:30Z" });
  await w.tick();
  const answer = await (await w.fetch(`/schedules/${schedule_id}`)).json();
  assert.deepEqual([answer.state, answer.last_fired_at], ["fired", "2030-01-01T00:00:01.000Z"]);
});
