/** Daemons that start from copies of one file, one after another or at once. */

import { join } from "node:path";
import { randomIds } from "kit/core/clock.ts";
import { keyedIdCodec } from "../../../daemon/features/messages/id_codec.ts";
import { SwiftClock } from "../swift_clock.ts";
import { countingIds } from "../ids.ts";
import { world, type WorldOptions } from "../world.ts";

/** Ids that count up, with real distances between the numbers of two runs. */
export function skippingIds() {
  return { ...countingIds(), distance: randomIds.distance };
}

/** A state whose database can be backed up and restored. Dispose it with `using`. */
export function backedUpState(options: WorldOptions = {}) {
  const directory = Deno.makeTempDirSync();
  const db_path = join(directory, "mesh.db");
  const shared: WorldOptions = {
    clock: new SwiftClock(),
    ids: skippingIds(),
    idCodec: keyedIdCodec,
    settings: { "human.name": "sam" },
    ...options,
  };
  return {
    start: (more: WorldOptions = {}) => world({ ...shared, db_path, ...more }),
    /** Copies the file of a daemon that has ended. */
    backUp: (name: string) => Deno.copyFileSync(db_path, join(directory, name)),
    putBack: (name: string) => Deno.copyFileSync(join(directory, name), db_path),
    /** Starts a daemon on a copy of the file, beside any other. */
    startCopy(name: string, more: WorldOptions = {}) {
      const copy_path = join(directory, `${name}.db`);
      Deno.copyFileSync(db_path, copy_path);
      return world({ ...shared, db_path: copy_path, ...more });
    },
    [Symbol.dispose]: () => Deno.removeSync(directory, { recursive: true }),
  };
}
