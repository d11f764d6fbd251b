/** A loss of power at any sync of a daemon under load: what it told is there, once. */

import assert from "node:assert/strict";
import { temporary } from "../../support/programs/child.ts";
import { losePower, record, type Recording } from "./power_loss.ts";
import { handsOver } from "./hooked_session.ts";
import { obstacle, type Operation } from "./trace.ts";

const REQUESTS = 40;
const POINTS = 15;
const FEW_POINTS = 3;

const why_not = await obstacle();

Deno.test({
  name: "everything acknowledged survives a loss of power at any sync, once [c2.ask.durable]" +
    (why_not === undefined ? "" : `: ${why_not}`),
  ignore: why_not !== undefined,
  async fn() {
    using folder = temporary();
    const seed = Date.now() % 1_000_000;
    const recording = await record(folder.path, REQUESTS);
    const options = { seed, points_max: POINTS, starts: 1 };
    const { failures, told, lost_reports } = await losePower(folder.path, recording, options);
    assert.deepEqual(failures, [], `seed ${seed}`);
    assert.ok(told > 100, `only ${told} ids were told`);
    assert.ok(lost_reports > 0, "every report of a hook that was answered is on the disk");
    const early = { seed, points_max: FEW_POINTS, starts: 0 };
    const { failures: found } = await losePower(folder.path, withEarlyHandovers(recording), early);
    assert.match(found.join("\n"), /was shown, and still waits/);
    for (const unsynced of [/mesh\.db-wal$/, /\.part$/, /\/home$/, /\/state$/]) {
      const forgetful = withoutSyncs(recording, unsynced);
      const few = { seed, points_max: FEW_POINTS, starts: 0 };
      const { failures } = await losePower(folder.path, forgetful, few);
      assert.ok(failures.length > 0, `nobody notices that ${unsynced} is not synced`);
    }
  },
});

/** The recording of a daemon that would not sync some of its files. */
function withoutSyncs({ operations, ...more }: Recording, path: RegExp): Recording {
  const isKept = (operation: Recording["operations"][number]) =>
    !operation.kind.startsWith("sync") || !("path" in operation) || !path.test(operation.path);
  return { operations: operations.filter(isKept), ...more };
}

/** The recording of a daemon whose hooks hand messages over before the commit that marks them. */
function withEarlyHandovers({ operations, ...more }: Recording): Recording {
  const moved: Operation[] = [];
  for (const operation of operations) {
    const isMoved = operation.kind === "sent" && handsOver(operation.text);
    const at = isMoved ? moved.findLastIndex(({ kind }) => kind === "sync begins") : moved.length;
    moved.splice(Math.max(0, at), 0, operation);
  }
  return { operations: moved, ...more };
}
