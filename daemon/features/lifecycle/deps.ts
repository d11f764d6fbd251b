/** Dependencies of this folder on the machine and on lower features. */

import type { ProcessTable } from "../../host/processes.ts";
import type { PaneObserver } from "../../host/tmux/pane_observer.ts";
import type { AgentTransports } from "../agents/transports.ts";
import type { Dispatcher } from "../messages/dispatcher.ts";
import type { Certificates } from "../peers/identity/certificates.ts";
import type { Peers } from "../peers/peers.ts";
import type { CircleBoundary } from "protocol/peers/record.ts";
import type { PeerWaits } from "../peers/waits.ts";
import type { PeerRecords, Reachability } from "../peers/records.ts";

export interface LifecycleDeps {
  readonly certificates: Certificates;
  readonly circle_boundary: CircleBoundary;
  readonly dispatcher: Dispatcher;
  /** The name of this machine. */
  readonly machine: string;
  readonly paneObserver: PaneObserver;
  readonly peers: Peers;
  /** The daemon's own pid. */
  readonly pid: number;
  readonly processes: ProcessTable;
  readonly reachability: Reachability;
  readonly records: PeerRecords;
  readonly transports: AgentTransports;
  readonly waits: Pick<PeerWaits, "report">;
}
