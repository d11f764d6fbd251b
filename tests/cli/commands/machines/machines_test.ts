/** `mesh machines`: the list, joining, and which machines a served bus knows. */

import assert from "node:assert/strict";
import { mustFindServer } from "../../../../cli/commands/machines/server_process.ts";
import { answeringDaemon, HEALTH, refusal } from "../../../support/cli/answering_daemon.ts";

const BUS = {
  status: "connected",
  url: "tls://bus.test:4222",
  since: "2030-01-01T00:00:00.000Z",
  reason: null,
  latency_ms: 1.25,
  daemon_id: HEALTH.daemon_id,
  name: "laptop",
  fingerprint: "0000 1111",
  shared_circles: ["work"],
  waiting_at_bus: 0,
  bytes_at_bus: 10,
  bytes_at_bus_max: 100,
  identity_in_use: null,
  refused: [],
  refused_by: [],
};
const MACHINE = {
  daemon_id: "dm-000000000002",
  name: "buildbox",
  fingerprint: "2222 3333",
  status: "offline",
  last_seen: new Date(Date.now() - 2 * 3600_000).toISOString(),
  latency_ms: 12.4,
  clock_ahead_ms: -45_000,
  peers: 3,
  waiting: 2,
  oldest_waiting_at: new Date(Date.now() - 3600_000).toISOString(),
  went_back: { at: new Date(Date.now() - 7200_000).toISOString(), sent_again: 12 },
  may_administer: true,
};
const KEY = "UA3ZZQSUDASE4ZFUOSE7NG2KF5HZQ5N4HAYFV72PCREJZCWO27A2YN7I";
const SECRET = `mesh_net_${"a".repeat(43)}`;
const CA = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";

const fixture = (bus: Record<string, unknown> = {}, machines: unknown[] = [MACHINE]) =>
  answeringDaemon({
    "GET /health": () => HEALTH,
    "GET /machines": () => ({ bus: { ...BUS, ...bus }, machines }),
    "DELETE /machines/buildbox": () => ({ ok: true }),
  });

/** An invitation as another machine printed it. */
function invitation(more: Record<string, unknown> = {}): string {
  const text = JSON.stringify({
    version: 1,
    url: "tls://bus.test:4222",
    ca: CA,
    secret: SECRET,
    name: "buildbox",
    ...more,
  });
  const bytes = new TextEncoder().encode(text);
  return `mesh_join_${bytes.toBase64({ alphabet: "base64url", omitPadding: true })}`;
}

Deno.test("mesh machines shows this machine, then the others with the age of their records", async () => {
  await using at = fixture();
  const { code, out } = await at.mesh(["machines"]);
  assert.equal(code, 0);
  assert.match(out, /^this machine +laptop, dm-000000000001\nfingerprint +0000 1111\n/);
  assert.match(out, /bus +connected, tls:\/\/bus\.test:4222, 1\.3 ms\nshares +work\n/);
  assert.match(out, /buildbox +offline, 2h .*12 ms +45s behind +3 +2, oldest 1h .* yes +dm-0{11}2/);
  assert.match(out, /buildbox or of this machine went back .* 2h ago: 12 messages and reports/);
  const { bus } = JSON.parse((await at.mesh(["machines", "list", "--json"])).out);
  assert.equal(bus.url, "tls://bus.test:4222");
});

Deno.test("mesh machines says why the bus is not connected, and that nothing is shared", async () => {
  await using at = fixture({
    status: "down",
    reason: "The bus does not answer",
    shared_circles: [],
  });
  const { out } = await at.mesh(["machines"]);
  assert.match(out, /why not +The bus does not answer\n/);
  assert.match(out, /shares +nothing; choose circles: mesh config set mesh\.bus\.allow CIRCLE/);
});

Deno.test("mesh machines says which machine refuses this one, and what to do", async () => {
  const refusal = {
    daemon_id: MACHINE.daemon_id,
    name: "buildbox",
    reason: "name_taken",
    detail: "Another machine has this name",
    hint: "mesh config set mesh.bus.name OTHER",
    at: "2030-01-01T00:00:00.000Z",
  };
  await using at = fixture({ refused_by: [refusal] });
  assert.match(
    (await at.mesh(["machines"])).out,
    /buildbox refuses this machine \(name_taken\): Another machine.*\.\n +What to do: mesh config set/,
  );
});

Deno.test("mesh machines says how to join where no bus is configured", async () => {
  await using at = fixture({ status: "disabled", url: null, name: null }, []);
  const { out } = await at.mesh(["machines"]);
  assert.match(
    out,
    /has not joined .*\nBegin one here: mesh machines serve\nJoin one: mesh machines join/,
  );
});

Deno.test("an invitation is all that a machine needs to join, and its secret is not printed", async () => {
  await using at = fixture();
  const { code, out, err } = await at.mesh(["machines", "join", invitation(), "--no-restart"]);
  assert.deepEqual([code, err], [0, ""]);
  assert.match(out, /^Joined as buildbox;/);
  assert.match(out, /daemon id +dm-000000000001\nfingerprint +([0-9a-f]{4} ?){8}\n/);
  assert.match(out, /\n {2}mesh machines allow U[A-Z2-7]{55} dm-000000000001 buildbox\n/);
  assert.doesNotMatch(out, /mesh_net_/);
  const config = Deno.readTextFileSync(at.env.MESH_CONFIG);
  assert.match(config, /url: tls:\/\/bus\.test:4222\n +name: buildbox\n +ca: .*\/bus\/ca\.pem/);
  assert.equal(Deno.readTextFileSync(`${at.dir}/bus/ca.pem`), CA);
  assert.equal(Deno.readTextFileSync(`${at.dir}/bus/network.secret`), `${SECRET}\n`);
});

Deno.test("--name and --share override the invitation and the default", async () => {
  await using at = fixture();
  const flags = ["--no-restart", "--name", "desk", "--share", "work,home", "--share", "lab"];
  const { code, out } = await at.mesh(["machines", "join", invitation(), ...flags]);
  assert.equal(code, 0);
  assert.match(out, /shares +work, home, lab\n/);
  assert.match(Deno.readTextFileSync(at.env.MESH_CONFIG), /name: desk/);
});

Deno.test("a damaged invitation is refused without quoting it", async () => {
  await using at = fixture();
  const whole = invitation();
  const wrong = [whole.slice(0, -20), "mesh_join_", invitation({ url: "http://bus.test" })];
  for (const text of wrong) {
    const { code, err } = await at.mesh(["machines", "join", text, "--no-restart"]);
    assert.equal(code, 2);
    assert.match(err, /invitation is incomplete or damaged/);
    assert.ok(!err.includes(text.slice(20, 60)) || text.length < 20);
  }
  assert.throws(() => Deno.statSync(at.env.MESH_CONFIG), Deno.errors.NotFound);
});

Deno.test("by address, the secret comes from stdin, or begins a network", async () => {
  await using at = fixture();
  const join = ["machines", "join", "tls://bus.test:4222", "--no-restart", "--name", "desk"];
  const without = await at.mesh(join);
  assert.deepEqual([without.code, /--secret/.test(without.err)], [2, true]);
  assert.equal((await at.mesh([...join, "--secret", SECRET])).code, 2);
  const device = { read: () => Promise.resolve(`${SECRET}\n`) };
  assert.equal((await at.mesh([...join, "--secret", "-"], device)).code, 0);
  assert.equal(Deno.readTextFileSync(`${at.dir}/bus/network.secret`), `${SECRET}\n`);
  assert.equal((await at.mesh([...join, "--secret", "new"])).code, 0);
  const made = Deno.readTextFileSync(`${at.dir}/bus/network.secret`);
  assert.match(made, /^mesh_net_[\w-]{43}\n$/);
  assert.equal((await at.mesh(join)).code, 0, "the secret that is there is used again");
  assert.equal(Deno.readTextFileSync(`${at.dir}/bus/network.secret`), made);
});

Deno.test("a credentials file replaces the key to be allowed", async () => {
  await using at = fixture();
  const creds = `${at.dir}/me.creds`;
  Deno.writeTextFileSync(creds, "-----BEGIN NATS USER JWT-----\n");
  const flags = ["--creds", creds, "--no-restart", "--json"];
  const { out } = await at.mesh(["machines", "join", invitation(), ...flags]);
  const { user_key, allow } = JSON.parse(out);
  assert.deepEqual([user_key, allow], [null, null]);
  const missing = ["machines", "join", invitation(), "--creds", `${at.dir}/none`];
  assert.match((await at.mesh(missing)).err, /There is no file/);
});

Deno.test("plain nats:// to another machine is refused before anything is written", async () => {
  await using at = fixture();
  const join = ["machines", "join", "nats://bus.test", "--secret", "new", "--no-restart"];
  const { code, err } = await at.mesh(join);
  assert.equal(code, 1);
  assert.match(err, /without mesh\.bus\.ca; allowed .* tls:\/\/HOST:PORT/);
  assert.throws(() => Deno.statSync(at.env.MESH_CONFIG), Deno.errors.NotFound);
});

Deno.test("leaving takes the machine out of the network", async () => {
  await using at = fixture();
  await at.mesh(["machines", "join", invitation(), "--no-restart"]);
  const { code, out } = await at.mesh(["machines", "leave", "--no-restart"]);
  assert.equal(code, 0);
  assert.match(out, /^Left; .*\n.*mesh machines refuse NAME/);
  assert.throws(() => Deno.statSync(`${at.dir}/bus/network.secret`), Deno.errors.NotFound);
});

Deno.test("a machine that left and removed its keys joins with a new key and fingerprint", async () => {
  await using at = fixture();
  const join = async () => {
    const { out } = await at.mesh(["machines", "join", invitation(), "--no-restart"]);
    return [/^fingerprint +(.+)$/m, /machines allow (\S+) /].map((line) => line.exec(out)?.[1]);
  };
  const [fingerprint, key] = await join();
  assert.deepEqual(await join(), [fingerprint, key], "the same invitation may be used again");
  await at.mesh(["machines", "leave", "--no-restart"]);
  Deno.removeSync(`${at.dir}/bus/machine.keys`);
  const [new_fingerprint, new_key] = await join();
  assert.ok(new_fingerprint && new_key);
  assert.notEqual(new_fingerprint, fingerprint);
  assert.notEqual(new_key, key);
});

Deno.test("any machine of the network can invite another one", async () => {
  await using at = fixture();
  assert.match((await at.mesh(["machines", "invite", "desk"])).err, /in no network/);
  await at.mesh(["machines", "join", invitation(), "--no-restart"]);
  const { out } = await at.mesh(["machines", "invite", "desk"]);
  const [, printed = ""] = /^mesh machines join (mesh_join_\S+)$/m.exec(out) ?? [];
  assert.equal(printed, invitation({ name: "desk" }));
  assert.match(out, /show it nobody else/);
});

Deno.test("a machine is allowed and refused only where a bus is served", async () => {
  await using at = fixture();
  for (const command of [["allow", KEY, "dm-000000000002", "buildbox"], ["refuse", "buildbox"]]) {
    const { code, err } = await at.mesh(["machines", ...command]);
    assert.equal(code, 1);
    assert.match(err, /serves no bus/);
  }
});

for (
  const [key, id, name, reason] of [
    [KEY.replace("UA", "UB"), "dm-000000000002", "buildbox", /not the public key of a user/],
    [KEY, "dm-*", "buildbox", /not a daemon id/],
    [KEY, "dm-000000000002", "build box", /a name: letters/],
  ] as const
) {
  Deno.test(`mesh machines allow refuses what it cannot check: ${reason.source}`, async () => {
    await using at = fixture();
    const { code, err } = await at.mesh(["machines", "allow", key, id, name]);
    assert.equal(code, 2);
    assert.match(err, reason);
  });
}

Deno.test("mesh machines forget names the machine to the daemon", async () => {
  await using at = fixture();
  assert.match((await at.mesh(["machines", "forget", "buildbox"])).out, /^Forgotten: buildbox\./);
  assert.ok(at.received.some(({ route }) => route === "DELETE /machines/buildbox"));
  await using strange = answeringDaemon({
    "DELETE /machines/nobody": () =>
      refusal(404, { error: "unknown_machine_name", detail: "Unknown machine: nobody" }),
  });
  assert.equal((await strange.mesh(["machines", "forget", "nobody"])).code, 1);
});

Deno.test("mesh machines serve says what to install where a program is missing", async () => {
  await using at = fixture();
  const env = { PATH: at.dir };
  assert.throws(() => mustFindServer(env, []), /nats-server is not installed; .*apt install nats/);
  Deno.writeTextFileSync(`${at.dir}/nats-server`, "");
  assert.equal(mustFindServer(env, []), `${at.dir}/nats-server`);
  const { code, err } = await at.mesh(["machines", "serve", "--background"], {}, env);
  assert.equal(code, 1);
  assert.match(err, /openssl is not installed; .*apt install openssl/);
});

Deno.test("mesh machines serve refuses an invalid address or port", async () => {
  await using at = fixture();
  assert.match(
    (await at.mesh(["machines", "serve", "--host", "a,b"])).err,
    /not a name or an addr/,
  );
  assert.match((await at.mesh(["machines", "serve", "--port", "70000"])).err, /is not a port/);
  assert.match((await at.mesh(["machines", "serve", "--stop"])).out, /No server .* is running/);
});
