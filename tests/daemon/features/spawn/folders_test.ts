/** Completing a folder: only within the allowed paths, after links are followed. */

import assert from "node:assert/strict";
import { FOLDERS_MAX } from "protocol/spawn/contract.ts";
import { get } from "../../../support/daemon/peer_clients.ts";
import { spawningWorld } from "../../../support/daemon/spawns.ts";

type At = Awaited<ReturnType<typeof spawningWorld>>;

const complete = ({ w }: At, prefix: string) =>
  get(w, `/spawn/folders?prefix=${encodeURIComponent(prefix)}`);

function make({ folder }: At, ...names: string[]): void {
  for (const name of names) Deno.mkdirSync(`${folder}/${name}`, { recursive: true });
}

Deno.test("GET /spawn/folders lists the allowed paths, then the folders inside", async () => {
  await using at = await spawningWorld();
  const { folder } = at;
  make(at, "api", "app/src", "web");
  Deno.writeTextFileSync(`${folder}/notes.txt`, "");
  for (const prefix of ["", folder.slice(0, 5), folder]) {
    assert.deepEqual((await complete(at, prefix)).folders, [folder], prefix);
  }
  assert.deepEqual(await complete(at, `${folder}/`), {
    status: 200,
    folders: [`${folder}/api`, `${folder}/app`, `${folder}/web`],
    truncated: false,
  });
  assert.deepEqual((await complete(at, `${folder}/ap`)).folders, [
    `${folder}/api`,
    `${folder}/app`,
  ]);
  assert.deepEqual((await complete(at, `${folder}/app/`)).folders, [`${folder}/app/src`]);
  assert.deepEqual((await complete(at, `${folder}/x`)).folders, []);
});

Deno.test("hidden folders come last, and at most 50 are listed", async () => {
  await using at = await spawningWorld();
  make(at, ".git", "zoo");
  const { folder } = at;
  assert.deepEqual((await complete(at, `${folder}/`)).folders, [
    `${folder}/zoo`,
    `${folder}/.git`,
  ]);
  make(at, ...Array.from({ length: FOLDERS_MAX }, (_, at) => `n${at}`));
  const { folders, truncated } = await complete(at, `${folder}/`);
  assert.deepEqual([folders.length, truncated], [FOLDERS_MAX, true]);
});

Deno.test("a path outside of the allowed paths is refused, also through dots and links", async () => {
  await using at = await spawningWorld();
  const { folder } = at;
  make(at, "inside");
  const outside = await Deno.makeTempDir();
  Deno.mkdirSync(`${outside}/secret`);
  Deno.symlinkSync(outside, `${folder}/way-out`);
  Deno.symlinkSync(`${folder}/inside`, `${folder}/way-in`);
  const listed = (await complete(at, `${folder}/`)).folders;
  assert.deepEqual(listed, [`${folder}/inside`, `${folder}/way-in`]);
  for (
    const prefix of ["/etc/", `${outside}/`, `${folder}/../`, `${folder}/way-out/`, "x", "\0/"]
  ) {
    const { status, error } = await complete(at, prefix);
    assert.deepEqual([status, error], [403, "path_not_allowed"], prefix);
  }
  await Deno.remove(outside, { recursive: true });
});

Deno.test("without allowed paths there is nothing to complete", async () => {
  await using at = await spawningWorld({ settings: { "spawn.allowed_paths": "[]" } });
  assert.deepEqual((await complete(at, "")).folders, []);
  assert.equal((await complete(at, `${at.folder}/`)).error, "path_not_allowed");
});
