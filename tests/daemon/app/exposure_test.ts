/** A start closes files that other users of the machine could open. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { makePrivate } from "kit/host/private_files.ts";
import { protectConfig, protectState } from "../../../daemon/app/private_state.ts";

/** A temporary directory, whose files have exactly the given modes. */
class Folder implements Disposable {
  readonly path = Deno.makeTempDirSync({ prefix: "mesh-exposure-" });

  file(name: string, mode: number, text = ""): string {
    const path = join(this.path, name);
    Deno.writeTextFileSync(path, text);
    Deno.chmodSync(path, mode);
    return path;
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

function modeOf(path: string): number {
  return (Deno.lstatSync(path).mode ?? 0) & 0o777;
}

const SECRETS = [
  "daemon: {auth_token: tok_0123}",
  "daemon.auth_token: tok_0123",
  "relay:\n  secret: mesh_sk_x",
  "surfaces: {telegram: {token: '1:abc'}}",
  "spawn: {env: {API_KEY: k}}",
  "routing: {webhook: 'https://router.example/?key=k'}",
];

Deno.test("a configuration with a secret is closed to group and others", () => {
  for (const text of SECRETS) {
    using folder = new Folder();
    const path = folder.file("config.yaml", 0o644, text);
    const exposed = protectConfig({ MESH_CONFIG: path });
    assert.deepEqual(exposed, [{ path, mode: "0644", changed_to: "0600" }], text);
    assert.equal(modeOf(path), 0o600);
    assert.deepEqual(protectConfig({ MESH_CONFIG: path }), []);
  }
});

Deno.test("others may read a configuration without a secret, but not write it", () => {
  using folder = new Folder();
  const path = folder.file("config.yaml", 0o644, "daemon: {port: 9000}");
  assert.deepEqual([protectConfig({ MESH_CONFIG: path }), modeOf(path)], [[], 0o644]);
  Deno.chmodSync(path, 0o664); // A writer could name a check, which runs as our user.
  protectConfig({ MESH_CONFIG: path });
  assert.equal(modeOf(path), 0o600);
});

Deno.test("a configuration that is a link stays a link, and its target is closed", () => {
  using folder = new Folder();
  const target = folder.file("dotfiles.yaml", 0o644, SECRETS[0]);
  const path = join(folder.path, "config.yaml");
  Deno.symlinkSync(target, path);
  assert.equal(protectConfig({ MESH_CONFIG: path }).length, 1);
  assert.deepEqual([modeOf(target), Deno.lstatSync(path).isSymlink], [0o600, true]);
});

Deno.test("a missing configuration and a missing state directory are left alone", () => {
  assert.deepEqual(protectConfig({ MESH_CONFIG: "/none/config.yaml" }), []);
  assert.deepEqual(protectState("/none/state"), []);
});

Deno.test("a state directory and the daemon's files in it are closed to others", () => {
  using folder = new Folder();
  const names = ["mesh.db", "mesh.db-wal", "hook.token", "daemon.log", "daemon.json", "lock"];
  const files = names.map((name) => folder.file(name, 0o644));
  const other = folder.file("notes.txt", 0o644);
  Deno.mkdirSync(join(folder.path, "attachments"), { mode: 0o755 });
  Deno.chmodSync(folder.path, 0o755);
  assert.equal(protectState(folder.path).length, names.length + 2);
  assert.deepEqual(files.map(modeOf), names.map(() => 0o600));
  assert.deepEqual(
    [folder.path, join(folder.path, "attachments"), other].map(modeOf),
    [0o700, 0o700, 0o644],
    "files that are not the daemon's are left alone",
  );
});

Deno.test({
  name: "a file of another user is refused by name, and left as it is",
  ignore: Deno.uid() !== 0, // Only root can give a file away.
  fn() {
    using folder = new Folder();
    const path = folder.file("hook.token", 0o666);
    Deno.chownSync(path, 65_534, 65_534);
    assert.throws(() => makePrivate(path), /hook\.token belongs to user 65534.*chown 0 /);
    assert.throws(() => protectState(folder.path), /belongs to user 65534/);
    assert.equal(modeOf(path), 0o666);
  },
});
