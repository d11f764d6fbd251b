/** The lease of a port, and the processes that listen there. */

import * as at from "protocol/generated/endpoints.ts";
import { Empty, ResourceView } from "../../components/basics.tsx";
import { PeerLink } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import type { PortAnswer } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";
import { LeaseList } from "./lease_list.tsx";

export function PortUses({ port }: { port: string }) {
  const load = () => call(at.whoUsesPort, { params: { port } });
  const resource = useResource(`port ${port}`, ["leases"], load);
  return (
    <ResourceView resource={resource}>{(answer) => <PortUseList answer={answer} />}</ResourceView>
  );
}

export function PortUseList(
  { answer: { port, lease, listeners, others } }: { answer: PortAnswer },
) {
  const isUsed = lease !== null || listeners.length > 0 || others > 0;
  if (!isUsed) return <Empty title={`Nobody uses port ${port}`} />;
  return (
    <div class="rail stack tight">
      {lease && <LeaseList leases={[lease]} />}
      {listeners.map(({ pid, command, peer_id, name }) => (
        <p key={pid}>
          Process {pid} listens: <bdi>{visible(command ?? "unknown program")}</bdi>
          {name !== null && (
            <>
              , started by <PeerLink id={peer_id} name={name} />
            </>
          )}
        </p>
      ))}
      {others > 0 && <p>{`Processes of other users that listen: ${others}`}</p>}
    </div>
  );
}
