/** Leases: the resource, the holder, since when, and the end of a lease by a person. */

import * as at from "protocol/generated/endpoints.ts";
import { Act, Age } from "../../components/basics.tsx";
import { PeerLink } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call, NOT_THROUGH_RELAY, RELAYED } from "../../state/calls.ts";
import type { Lease } from "../../state/records.ts";
import { refreshTopics, useResource } from "../../state/resource.ts";
import { useRefusal } from "../peer/interrupt.tsx";
import { Acting } from "../review/acting.tsx";

/** The resource with its name, and the number of a port. */
function leaseText({ resource, name, port }: Lease): string {
  return [resource, name, port].filter((part) => part !== null).join(" ");
}

export function LeaseList({ leases }: { leases: readonly Lease[] }) {
  return (
    <ul class="list">
      {leases.map((lease) => (
        <li key={lease.lease_id} class="lease row list-row" data-row tabIndex={-1}>
          <strong>
            <bdi>{visible(leaseText(lease))}</bdi>
          </strong>
          <span class="hint">held by</span>
          <PeerLink id={lease.peer_id} name={lease.holder} />
          <span class="hint">
            since <Age at={lease.taken_at} />
            {lease.pid === null ? ", while it starts" : `, until process ${lease.pid} ends`}
          </span>
          <span class="grow" />
          <EndLease lease={lease} />
        </li>
      ))}
    </ul>
  );
}

/** Disabled with the reason where this page may not end it. */
function EndLease({ lease }: { lease: Lease }) {
  const unsigned = useRefusal();
  const refusal = RELAYED ? NOT_THROUGH_RELAY : unsigned;
  const end = async () => {
    await call(at.releaseLease, { params: { id: lease.lease_id }, query: {} });
    refreshTopics(["leases"]);
  };
  const label = `End it: the lease of ${leaseText(lease)}`;
  if (refusal !== undefined) {
    return <Acting refusal={refusal} run={end} class="danger" label={label}>End it</Acting>;
  }
  return (
    <Act
      run={end}
      class="danger"
      label={label}
      confirm={`Others may then lease ${
        leaseText(lease)
      }, although ${lease.holder} may still use it.`}
    >
      End it
    </Act>
  );
}

/** The leases of a peer, in a line; nothing without any. */
export function PeerLeases({ peer_id }: { peer_id: string }) {
  const resource = useResource("leases", ["leases"], () => call(at.listLeases, {}));
  const own = resource.value.value?.leases.filter((lease) => lease.peer_id === peer_id) ?? [];
  return own.length === 0 ? null : (
    <p class="hint">
      {"Leases: "}
      {own.map((lease, index) => (
        <span key={lease.lease_id}>
          {index > 0 && ", "}
          <bdi>{visible(leaseText(lease))}</bdi> for <Age at={lease.taken_at} />
        </span>
      ))}
    </p>
  );
}
