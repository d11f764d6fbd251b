/** The processes of this machine, for worlds whose agents run in a real tmux. */

import { isAlive, parentOf, sendSignal, startTimeOf } from "../../../daemon/host/processes.ts";
import { FakeProcesses } from "../world.ts";

export class RealProcesses extends FakeProcesses {
  override readonly startTimeOf = startTimeOf;
  override readonly parentOf = parentOf;
  override readonly signal = sendSignal;
  override isAlive(pid: number, started?: string): boolean {
    return isAlive(pid, started);
  }
}
