/** A loss of power around commands that write files: what a command has said is there. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { mkdirSync, writeFileSync } from "node:fs";
import { DENO_DIR, temporary } from "../../support/programs/child.ts";
import { meshArguments } from "../../support/programs/program.ts";
import { Chance } from "../../support/seeded_random.ts";
import { ForgetfulDisk, type Image, LOSSES } from "./disk.ts";
import { obstacle, type Operation, readTrace, recordedBy, recordingOf } from "./trace.ts";

const ignore = await obstacle() !== undefined;

/** Runs a command of ours; its home is below the root of the recording. */
async function record(home: string, args: readonly string[]): Promise<Operation[]> {
  const trace = `${home}.trace`;
  const [program = "", ...rest] = [...recordedBy(trace), Deno.execPath()];
  const child = new Deno.Command(program, {
    args: [...rest, ...meshArguments(args)],
    env: {
      DENO_DIR,
      HOME: home,
      MESH_STATE: join(home, "state"),
      XDG_CONFIG_HOME: join(home, "config"),
    },
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const { success, stderr } = await child.output();
  assert.ok(success, new TextDecoder().decode(stderr));
  const operations = readTrace(await recordingOf(trace, child.pid), home);
  await Deno.remove(trace, { recursive: true });
  return operations;
}

/** The possible contents of the disk once the command has ended. */
function imagesAtEnd(operations: readonly Operation[]): Image[] {
  const disk = new ForgetfulDisk();
  for (const operation of operations) if (operation.kind !== "sent") disk.apply(operation);
  return LOSSES.map((loss) => disk.image(loss, new Chance(1)));
}

function textsOf(image: Image, folder: string): Record<string, string> {
  const files = [...image].filter(([path]) => path.startsWith(folder));
  return Object.fromEntries(
    files.map(([path, bytes]) => [path.slice(folder.length), new TextDecoder().decode(bytes)]),
  );
}

Deno.test({
  name: "a setting that was set survives a loss of power, and no unfinished file is left",
  ignore,
  async fn() {
    using folder = temporary();
    const operations = await record(folder.path, ["config", "set", "human.name", "sam"]);
    for (const image of imagesAtEnd(operations)) {
      assert.deepEqual(textsOf(image, join(folder.path, "config")), {
        "/mesh/config.yaml": "human:\n  name: sam\n",
      });
    }
  },
});

Deno.test({
  name: "a backup that was made survives a loss of power, with its attachments",
  ignore,
  async fn() {
    using folder = temporary();
    const [state, home] = [join(folder.path, "state"), folder.path];
    mkdirSync(join(state, "attachments"), { recursive: true, mode: 0o700 });
    new DatabaseSync(join(state, "mesh.db")).close();
    writeFileSync(join(state, "attachments", "notes.txt"), "notes");
    const file = join(home, "saved", "mesh.db");
    mkdirSync(join(home, "saved"));
    const operations = await record(home, ["backup", file, "--attachments"]);
    for (const image of imagesAtEnd(operations)) {
      const saved = textsOf(image, join(home, "saved"));
      assert.deepEqual(Object.keys(saved).toSorted(), [
        "/mesh.db",
        "/mesh.db.attachments/notes.txt",
      ]);
      assert.equal(saved["/mesh.db.attachments/notes.txt"], "notes");
    }
  },
});
