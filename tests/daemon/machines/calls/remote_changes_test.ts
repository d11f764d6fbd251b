/** The changes in the folder of a peer on another machine, which may be hostile. */

import assert from "node:assert/strict";
import { cleanChanges } from "../../../../daemon/features/changes/elsewhere.ts";
import { realGit, TestRepository } from "../../../support/repositories/repository.ts";
import { laptopAndBuildbox } from "../../../support/machines/memory_network.ts";

const TERMINAL = { headers: { "x-mesh-terminal": "7" } };
const PATH = "/peers/api@buildbox/changes";

Deno.test("a person reads changes on another machine that this one may administer [4.changes.remote]", async () => {
  const allowed = { settings: { "mesh.bus.allow_admin": '["laptop"]' } };
  await using two = await laptopAndBuildbox({
    laptop: { at_terminal: true },
    buildbox: allowed,
  });
  const found = await (await two.laptop.fetch(PATH, TERMINAL)).json();
  // The folder of the other machine's peer is no repository here.
  assert.match(found.state, /^no_/);
  assert.equal(found.name, "api@buildbox");
  const agents = await two.laptop.fetch(PATH);
  assert.equal((await agents.json()).error, "human_not_proven");
});

Deno.test("a machine that does not allow it shows no changes [4.changes.remote]", async () => {
  await using two = await laptopAndBuildbox({ laptop: { at_terminal: true } });
  const response = await two.laptop.fetch(PATH, TERMINAL);
  const { error, detail } = await response.json();
  assert.deepEqual([response.status, error], [502, "changes_elsewhere"]);
  assert.match(detail, /^buildbox does not show what changed there: /);
});

Deno.test("a person reads the diff of a folder that only the other machine has [4.changes.remote]", async () => {
  using repo = new TestRepository();
  repo.write("a.ts", "one\ntwo\n");
  repo.commit();
  repo.write("a.ts", "one\n2\u202e \u001b[2J\n");
  await using two = await laptopAndBuildbox({
    laptop: { at_terminal: true },
    buildbox: { settings: { "mesh.bus.allow_admin": '["laptop"]' }, git: realGit },
  });
  const painter = two.buildbox.socket();
  await painter.connect({ display_name: "painter", circle: "work", path: repo.folder });
  await two.pass(3);
  const found = await (await two.laptop.fetch("/peers/painter@buildbox/changes", TERMINAL)).json();
  assert.deepEqual([found.state, found.added, found.removed], ["ok", 1, 1], JSON.stringify(found));
  const [file] = found.files;
  assert.deepEqual([file.path, file.hunks[0].lines], [
    "a.ts",
    [" one", "-two", "+2⟨U+202E⟩ ⟨U+001B⟩[2J"],
  ]);
});

const ANSWER = {
  state: "ok",
  detail: "\u202elies",
  folder: "/w\u001b[2J",
  root: "/w",
  branch: "b\nb",
  head: null,
  base: { commit: "c", how: "head", ref: null },
  commits: 0,
  operation: null,
  added: 1,
  removed: 0,
  files_total: 1,
  files: [{
    path: "a\u202e.ts",
    old_path: null,
    status: "modified",
    uncommitted: null,
    added: 1,
    removed: 0,
    binary: false,
    hunks: [{
      old_start: 1,
      new_start: 1,
      lines: ["+known-secret-1 \u001b[31m", "+token=abcdef123"],
    }],
    cut: false,
  }],
  next: null,
  left_out: [{ what: "w\u202e", why: "y" }],
  masked: 0,
  read_at: "2030-01-01T00:00:00.000Z",
};

Deno.test("the other machine's text is masked, bounded, and shows its hidden characters [4.changes.masked]", () => {
  const found = cleanChanges({ ...ANSWER, more: "x" }, ["known-secret-1"]);
  for (const hidden of ["\u202e", "\u001b", "\\u001b", "known-secret", "abcdef123", "lies"]) {
    assert.ok(!JSON.stringify(found).includes(hidden), hidden);
  }
  assert.equal(found?.detail, null);
  assert.deepEqual(found.files[0]?.hunks?.[0]?.lines, [
    "+[masked] ⟨U+001B⟩[31m",
    "+token=[masked]",
  ]);
  assert.deepEqual([found.files[0].path, found.masked], ["a⟨U+202E⟩.ts", 2]);
  const [file] = ANSWER.files;
  const lines = Array.from({ length: 200 }, () => `+${"x".repeat(5_000)}`);
  const many = Array.from(
    { length: 1_100 },
    () => ({ ...file, hunks: [{ ...file?.hunks[0], lines }] }),
  );
  const bounded = cleanChanges({ ...ANSWER, files: many }, []);
  assert.ok(JSON.stringify(bounded).length < 2_000_000);
  assert.equal(bounded?.files[999]?.cut, true);
  assert.equal(cleanChanges({ ...ANSWER, state: "fine" }, []), undefined);
  assert.equal(cleanChanges("no", []), undefined);
});
