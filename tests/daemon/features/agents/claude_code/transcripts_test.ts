import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { resumeClaude } from "../../../../../daemon/features/agents/claude_code/transcripts.ts";

const ID = "0b0c6c3e-8f4e-4c55-9d5c-6a1f0e1f2a3b";

/** A configuration folder with one transcript. */
async function withTranscript(
  text: string | undefined,
  test: (at: { config: string; project: string }) => Promise<void>,
) {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  const config = join(dir, ".claude"), project = join(dir, "api");
  await Deno.mkdir(project);
  if (text !== undefined) {
    const file = join(config, "projects", "-some-folder", `${ID}.jsonl`);
    await Deno.mkdir(dirname(file), { recursive: true });
    await Deno.writeTextFile(file, text.replaceAll("PROJECT", project));
  }
  try {
    await test({ config, project });
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

const LINES = '{"type":"mode"}\n{"cwd":"PROJECT","type":"user"}\n';

Deno.test("a session is resumed if its transcript exists and belongs to this folder", async () => {
  await withTranscript(LINES, async ({ config, project }) => {
    const session = { runtime_session_id: ID, path: project };
    const found = await resumeClaude(["/none", config], session);
    assert.deepEqual(found, { ok: true, args: ["--resume", ID] });
    await Deno.symlink(project, `${project}-link`);
    const linked = await resumeClaude([config], { ...session, path: `${project}-link` });
    assert.equal(linked.ok, true);
    const elsewhere = await resumeClaude([config], { ...session, path: "/tmp" });
    assert.deepEqual(elsewhere, { ok: false, reason: "session_of_another_folder" });
  });
});

Deno.test("a session without a transcript is not resumed", async () => {
  await withTranscript(undefined, async ({ config, project: path }) => {
    const missing = await resumeClaude([config], { runtime_session_id: ID, path });
    assert.deepEqual(missing, { ok: false, reason: "session_file_missing" });
  });
  await withTranscript("", async ({ config, project: path }) => {
    const empty = await resumeClaude([config], { runtime_session_id: ID, path });
    assert.deepEqual(empty, { ok: false, reason: "session_file_empty" });
  });
});

Deno.test("an invalid id is neither looked up nor put on a command line", async () => {
  await withTranscript(LINES, async ({ config, project: path }) => {
    for (
      const id of ["../x", "--dangerously", "a b", "", `${ID}\n`, "a/../../b", "x".repeat(200)]
    ) {
      const found = await resumeClaude([config], { runtime_session_id: id, path });
      assert.deepEqual(found, { ok: false, reason: "bad_session_id" }, id);
    }
  });
});

Deno.test("a transcript whose head names no folder is accepted", async () => {
  await withTranscript(`{"half":\n${"x".repeat(70_000)}`, async ({ config, project: path }) => {
    assert.equal((await resumeClaude([config], { runtime_session_id: ID, path })).ok, true);
  });
});
