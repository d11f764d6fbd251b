/** The peers by machine: this machine first, then online ones, then offline ones, folded. */

import { call } from "../../state/calls.ts";
import { groupsOf } from "../../state/remote.ts";
import * as at from "protocol/generated/endpoints.ts";
import { network, useFreshNetwork } from "../../state/network.ts";
import type { Message, Peer } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";
import { OtherMachineGroup } from "./other_machine.tsx";
import { OwnMachineGroup } from "./own_machine.tsx";

/** Maximum messages loaded of each state; if more wait, the others are only counted. */
const WAITING_MAX = "500";
/** In these states a message may wait for another machine: for the bus, or for its daemon there. */
const WAITING_STATES = ["queued", "sent"] as const;
const WAITING_INTERVAL_MS = 2000;

interface Props {
  readonly peers: readonly Peer[];
  /** The peers that are listed above all machines. */
  readonly above: readonly Peer[];
  readonly dense: boolean;
  /** True if a filter hides peers; machines without a matching peer are hidden, too. */
  readonly is_filtered: boolean;
}

export function MachineGroups({ peers, above, dense, is_filtered }: Props) {
  useFreshNetwork();
  const { bus, machines = [] } = network.value.value ?? {};
  const is_waiting = machines.some(({ waiting }) => waiting > 0);
  const messages = useWaitingMessages(is_waiting);
  const { own, others } = groupsOf(peers, machines);
  const isShown = (members: readonly Peer[]) => !is_filtered || members.length > 0;
  return (
    <div class="machine-groups">
      {isShown(own) && (
        <OwnMachineGroup
          bus={bus}
          peers={own}
          above={above}
          dense={dense}
          is_filtered={is_filtered}
        />
      )}
      {others.filter((group) => isShown(group.peers)).map((group) => (
        <OtherMachineGroup
          key={group.daemon_id}
          group={group}
          messages={messages}
          above={above}
          dense={dense}
          is_unfolded={is_filtered}
        />
      ))}
    </div>
  );
}

/** Loads nothing while nothing waits. */
function useWaitingMessages(is_waiting: boolean): readonly Message[] {
  const load = async () => {
    if (!is_waiting) return [];
    const pages = await Promise.all(
      WAITING_STATES.map((state) =>
        call(at.listMessages, { query: { state, limit: WAITING_MAX } })
      ),
    );
    return pages.flatMap((page) => page.messages);
  };
  const key = `messages to machines, ${is_waiting}`;
  const options = { interval_ms: WAITING_INTERVAL_MS };
  return useResource(key, ["messages"], load, options).value.value ?? [];
}
