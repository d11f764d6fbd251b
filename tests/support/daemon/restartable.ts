/** Worlds whose daemon can restart on the same file, or on the file that a crash left. */

import { join } from "node:path";
import { FakeClock } from "../clock.ts";
import { countingIds } from "../ids.ts";
import { FakeProcesses, world, type WorldOptions } from "../world.ts";

/** Starts daemons one after another on one file, with one clock; dispose of it with `using`. */
export function restartableWorld(options: WorldOptions = {}) {
  const directory = Deno.makeTempDirSync();
  const shared: WorldOptions = {
    clock: new FakeClock(),
    ids: countingIds(),
    processes: new FakeProcesses(),
    ...options,
  };
  const db_path = join(directory, "mesh.db");
  return {
    db_path,
    start: (more: WorldOptions = {}) => world({ ...shared, db_path, ...more }),
    /** Starts another daemon on a copy of the file as `kill -9` would leave it. */
    startFromCrash() {
      const copy_path = join(directory, "crash.db");
      for (const suffix of ["", "-wal"]) {
        Deno.copyFileSync(`${db_path}${suffix}`, `${copy_path}${suffix}`);
      }
      return world({ ...shared, db_path: copy_path });
    },
    [Symbol.dispose]: () => Deno.removeSync(directory, { recursive: true }),
  };
}
