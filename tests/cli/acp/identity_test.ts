/** The file that makes a restarted agent the same peer, in a temporary state directory. */

import assert from "node:assert/strict";
import { randomIds } from "kit/core/clock.ts";
import { IDENTITIES_MAX, Identity } from "../../../cli/acp/identity.ts";
import { temporary } from "../../support/programs/child.ts";

const PROGRAM = { argv: ["gemini"], name: "api", circle: undefined, cwd: "/work/api" };

Deno.test("the same program in the same folder gets its identity and session back", async () => {
  using dir = temporary();
  const env = { MESH_STATE: dir.path };
  let client_id: string;
  {
    using identity = await Identity.open(env, PROGRAM, randomIds);
    assert.equal(identity.session_id, undefined);
    client_id = identity.client_id;
    identity.keep("a session with a long id");
    identity.keep("session-2");
  }
  using again = await Identity.open(env, PROGRAM, randomIds);
  assert.deepEqual([again.client_id, again.session_id], [client_id, "session-2"]);
  for (const other of [{ cwd: "/work/web" }, { name: "b" }, { circle: "c" }, { argv: ["x"] }]) {
    using identity = await Identity.open(env, { ...PROGRAM, ...other }, randomIds);
    assert.notEqual(identity.client_id, client_id);
  }
  const [{ name }] = Array.from(Deno.readDirSync(`${dir.path}/acp`)) as [Deno.DirEntry];
  const { mode } = Deno.statSync(`${dir.path}/acp/${name}`);
  assert.equal((mode ?? 0) & 0o777, 0o600);
});

Deno.test("a program that runs already gets an identity that is not kept", async () => {
  using dir = temporary();
  const env = { MESH_STATE: dir.path };
  let client_id: string;
  {
    using first = await Identity.open(env, PROGRAM, randomIds);
    client_id = first.client_id;
    first.keep("session-1");
    using second = await Identity.open(env, PROGRAM, randomIds);
    assert.notEqual(second.client_id, client_id);
    assert.equal(second.session_id, undefined);
    second.keep("session-2");
  }
  using third = await Identity.open(env, PROGRAM, randomIds);
  assert.deepEqual([third.client_id, third.session_id], [client_id, "session-1"]);
});

Deno.test("a file that is damaged is replaced", async () => {
  using dir = temporary();
  const env = { MESH_STATE: dir.path };
  (await Identity.open(env, PROGRAM, randomIds))[Symbol.dispose]();
  const [{ name }] = Array.from(Deno.readDirSync(`${dir.path}/acp`)) as [Deno.DirEntry];
  Deno.writeTextFileSync(`${dir.path}/acp/${name}`, '{"client_id":');
  using identity = await Identity.open(env, PROGRAM, randomIds);
  assert.match(identity.client_id, /^[0-9a-f]{32}$/);
});

Deno.test("200 files are kept, and the one that is not used for longest goes first", async () => {
  using dir = temporary();
  const env = { MESH_STATE: dir.path }, folder = `${dir.path}/acp`;
  Deno.mkdirSync(folder);
  for (let at = 0; at < IDENTITIES_MAX; at++) {
    Deno.writeTextFileSync(`${folder}/${at}.json`, "{}");
    Deno.utimeSync(`${folder}/${at}.json`, at + 1, at + 1);
  }
  (await Identity.open(env, PROGRAM, randomIds))[Symbol.dispose]();
  const names = Array.from(Deno.readDirSync(folder), ({ name }) => name);
  assert.deepEqual([names.length, names.includes("0.json"), names.includes("1.json")], [
    IDENTITIES_MAX,
    false,
    true,
  ]);
});
