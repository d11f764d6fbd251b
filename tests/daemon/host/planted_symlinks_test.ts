/** Symbolic links planted where we write are replaced, never followed. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { applyEdit } from "../../../daemon/features/agents/install.ts";
import type { JsonObject } from "../../../daemon/features/agents/settings_files/json.ts";
import { writePrivately } from "kit/host/durable_files.ts";

/** A directory with a file that must not change. */
class Folder implements Disposable {
  readonly path = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "mesh-planted-" }));
  readonly victim = this.at("victim");

  constructor() {
    Deno.writeTextFileSync(this.victim, "untouched", { mode: 0o640 });
  }

  at(name: string): string {
    return join(this.path, name);
  }

  mustBeUntouched(): void {
    assert.equal(Deno.readTextFileSync(this.victim), "untouched");
    assert.equal((Deno.statSync(this.victim).mode ?? 0) & 0o777, 0o640);
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

Deno.test("writing a private file follows no link at the name of its temporary file", () => {
  using folder = new Folder();
  Deno.symlinkSync(folder.victim, folder.at("hook.token.new"));
  writePrivately(folder.at("hook.token"), "s3cret");
  folder.mustBeUntouched();
  assert.equal(Deno.readTextFileSync(folder.at("hook.token")), "s3cret");
  assert.ok(Deno.lstatSync(folder.at("hook.token")).isFile);
});

Deno.test("a private file is private even if its temporary file was readable by all", () => {
  using folder = new Folder();
  Deno.writeTextFileSync(folder.at("hook.token.new"), "", { mode: 0o644 });
  writePrivately(folder.at("hook.token"), "s3cret");
  assert.equal((Deno.statSync(folder.at("hook.token")).mode ?? 0) & 0o777, 0o600);
});

Deno.test("changing an agent's settings follows no link at the names of the temporary file and the backup", () => {
  using folder = new Folder();
  const settings = folder.at("settings.json");
  Deno.writeTextFileSync(settings, '{"theme": "dark"}', { mode: 0o644 });
  Deno.symlinkSync(folder.victim, `${settings}.mesh-${Deno.pid}`);
  Deno.symlinkSync(folder.at("made"), `${settings}.mesh-backup`);
  const change = (before: JsonObject) => ({ ...before, hooks: {} });
  applyEdit({ path: settings, format: "json", add: change, remove: change }, { undo: false });
  folder.mustBeUntouched();
  assert.throws(() => Deno.lstatSync(folder.at("made")), Deno.errors.NotFound);
  assert.equal(Deno.readTextFileSync(`${settings}.mesh-backup`), '{"theme": "dark"}');
  assert.ok(Deno.lstatSync(settings).isFile);
  assert.match(Deno.readTextFileSync(settings), /hooks/);
});
