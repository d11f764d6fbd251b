/** Joining and leaving: which files and settings are written, and what is kept. */

import assert from "node:assert/strict";
import { randomIds } from "kit/core/clock.ts";
import { busPaths, UnusableBusFile } from "../../../../daemon/app/membership/files.ts";
import {
  makeNetworkSecret,
  type Membership,
  removeMembership,
  SettingsRefused,
  writeMembership,
} from "../../../../daemon/app/membership/joining.ts";
import { readMembership } from "../../../../daemon/app/membership/membership.ts";
import { readConfig } from "../../../../daemon/app/config.ts";
import { makeUserKey } from "../../../../daemon/machines/nats/nkeys.ts";

const CA = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";

/** A temporary state directory with a configuration file. */
class Home implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-home-" });
  readonly env = {
    HOME: this.dir,
    MESH_CONFIG: `${this.dir}/config.yaml`,
    MESH_STATE: `${this.dir}/state`,
  };
  readonly paths = busPaths(this.env);
  readonly secret = makeNetworkSecret(randomIds);

  join(more: Partial<Membership> = {}) {
    return writeMembership(this.env, randomIds, {
      url: "tls://bus.test:4222",
      name: "laptop",
      network_secret: this.secret,
      ca: undefined,
      creds: undefined,
      share: undefined,
      ...more,
    });
  }

  config() {
    return readConfig(this.env, (path) => Deno.readTextFileSync(path));
  }

  membership() {
    return readMembership(this.env, this.config(), "host.test");
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

Deno.test("a machine that joins has keys, a user and the secret, in files for its user only", async () => {
  using home = new Home();
  const { user_key, fingerprint } = await home.join({ ca: CA, share: ["work"] });
  assert.match(user_key ?? "", /^U[A-Z2-7]{55}$/);
  assert.match(fingerprint, /^([0-9a-f]{4} ){7}[0-9a-f]{4}$/);
  const { network_secret, machine_keys, user_seed, ca, directory } = home.paths;
  for (const path of [network_secret, machine_keys, user_seed, ca, home.env.MESH_CONFIG]) {
    assert.equal((Deno.statSync(path).mode ?? 0) & 0o777, 0o600, path);
  }
  assert.equal((Deno.statSync(directory).mode ?? 0) & 0o777, 0o700);
  const config = home.config();
  assert.deepEqual([config["mesh.bus.url"], config["mesh.bus.name"], config["mesh.bus.ca"]], [
    "tls://bus.test:4222",
    "laptop",
    ca,
  ]);
  assert.deepEqual(config["mesh.bus.allow"], ["work"]);
});

Deno.test("the daemon reads what joining wrote", async () => {
  using home = new Home();
  await home.join({ ca: CA });
  const membership = await home.membership() ?? assert.fail("It has not joined");
  const { url, name, network_secret, ca_path, credentials } = membership;
  assert.deepEqual([url, name, network_secret], ["tls://bus.test:4222", "laptop", home.secret]);
  assert.equal(ca_path, home.paths.ca);
  assert.deepEqual(credentials, { seed: Deno.readTextFileSync(home.paths.user_seed).trim() });
});

Deno.test("joining again keeps the keys, the user and what is shared", async () => {
  using home = new Home();
  const first = await home.join({ ca: CA, share: ["work"] });
  const again = await home.join({ url: "tls://other.test:4222" });
  assert.deepEqual([again.fingerprint, again.user_key], [first.fingerprint, first.user_key]);
  const config = home.config();
  assert.deepEqual(config["mesh.bus.allow"], ["work"]);
  assert.deepEqual([config["mesh.bus.url"], config["mesh.bus.ca"]], [
    "tls://other.test:4222",
    undefined,
  ]);
});

Deno.test("with a credentials file no user is made", async () => {
  using home = new Home();
  const creds = `${home.dir}/me.creds`;
  Deno.writeTextFileSync(creds, "-----BEGIN NATS USER JWT-----\n…\n");
  assert.equal((await home.join({ creds })).user_key, null);
  assert.throws(() => Deno.statSync(home.paths.user_seed), Deno.errors.NotFound);
  assert.deepEqual((await home.membership())?.credentials, { creds_path: creds });
});

Deno.test("a file with a seed may stand in for a credentials file", async () => {
  using home = new Home();
  const creds = `${home.dir}/seed`;
  const { seed } = await makeUserKey();
  Deno.writeTextFileSync(creds, `${seed}\n`);
  await home.join({ creds });
  assert.deepEqual((await home.membership())?.credentials, { seed });
});

Deno.test("where the settings are refused, neither they nor the secret are written", async () => {
  using home = new Home();
  await assert.rejects(() => home.join({ url: "nats://bus.test" }), SettingsRefused);
  await assert.rejects(() => home.join({ network_secret: "mesh_net_x" }), SettingsRefused);
  assert.throws(() => Deno.statSync(home.env.MESH_CONFIG), Deno.errors.NotFound);
  assert.throws(() => Deno.statSync(home.paths.network_secret), Deno.errors.NotFound);
});

Deno.test("a mistyped network secret is not quoted", async () => {
  using home = new Home();
  await assert.rejects(() => home.join({ network_secret: "mesh_net_abc" }), (error) => {
    assert.ok(error instanceof SettingsRefused);
    assert.match(error.message, /43 characters/);
    assert.doesNotMatch(error.message, /abc/);
    return true;
  });
});

Deno.test("leaving removes settings and secrets, and keeps the machine's own keys", async () => {
  using home = new Home();
  Deno.writeTextFileSync(home.env.MESH_CONFIG, "human:\n  name: sam\n");
  const { fingerprint } = await home.join({ ca: CA, share: ["work"] });
  assert.deepEqual(removeMembership(home.env).was_joined, true);
  assert.equal(Deno.readTextFileSync(home.env.MESH_CONFIG), "human:\n  name: sam\n");
  for (const file of ["network_secret", "user_seed", "ca"] as const) {
    assert.throws(() => Deno.statSync(home.paths[file]), Deno.errors.NotFound);
  }
  assert.equal(removeMembership(home.env).was_joined, false);
  assert.equal((await home.join()).fingerprint, fingerprint);
});

Deno.test("a machine without a bus has no membership, whatever files are there", async () => {
  using home = new Home();
  await home.join();
  removeMembership(home.env);
  assert.equal(await home.membership(), undefined);
});

for (
  const [what, damage, reason] of [
    ["no network secret", (home: Home) => Deno.removeSync(home.paths.network_secret), /join/],
    ["damaged keys", (home: Home) => write(home.paths.machine_keys, "{}"), /damaged/],
    ["no user", (home: Home) => Deno.removeSync(home.paths.user_seed), /no user for the bus/],
    ["a damaged user", (home: Home) => write(home.paths.user_seed, "SU"), /seed of a user's nkey/],
    ["a damaged secret", (home: Home) => write(home.paths.network_secret, "x"), /network secret/],
  ] as const
) {
  Deno.test(`the daemon says in a sentence what its files lack: ${what}`, async () => {
    using home = new Home();
    await home.join();
    damage(home);
    await assert.rejects(() => home.membership(), (error) => {
      assert.ok(error instanceof UnusableBusFile);
      assert.match(error.message, reason);
      return true;
    });
  });
}

function write(path: string, text: string): void {
  Deno.writeTextFileSync(path, text);
}
