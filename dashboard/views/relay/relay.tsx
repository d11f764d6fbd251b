/** Relay: the connection of this machine, the apps that use it, and links for guests. */

import { Age, Empty, Fact, ResourceView, State } from "../../components/basics.tsx";
import { Command } from "../../components/copy.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Health } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";
import { Devices } from "../settings/devices.tsx";
import { Apps } from "./apps.tsx";
import { Shares } from "./shares.tsx";

type RelayStatus = Health["relay"];

export function Relay() {
  const health = useResource("relay", ["health"], () => call(at.getHealth, {}), { kept: true });
  return (
    <ResourceView resource={health}>
      {({ relay, daemon_id }) => {
        // A daemon of an earlier version may not report it.
        const known: RelayStatus | undefined = relay;
        if (known?.status === "disabled") return <NoRelay />;
        return (
          <div class="stack loose">
            <Connection relay={known} daemon_id={daemon_id} />
            <Devices />
            <Shares />
            <Apps />
          </div>
        );
      }}
    </ResourceView>
  );
}

function NoRelay() {
  const command = "mesh setup --relay URL";
  return (
    <Empty title="No relay is configured">
      <p>
        A relay opens this dashboard on your phone, lets apps talk to your agents, and gives guests
        links to one agent. The daemon connects to it; nothing else reaches this machine.
      </p>
      <Command text={command} />
      <p class="hint">Then restart the daemon.</p>
    </Empty>
  );
}

function Connection({ relay, daemon_id }: { relay: RelayStatus | undefined; daemon_id: string }) {
  return (
    <section class="card">
      <h2>
        Connection <State of={relay?.status} />
      </h2>
      <dl class="facts">
        <Fact name="Relay">{relay?.url ? <bdi>{relay.url}</bdi> : "not known"}</Fact>
        <Fact name="This machine">
          <code>{daemon_id}</code>
        </Fact>
        <Fact name="Last connected">
          {relay?.last_connected_at ? <Age at={relay.last_connected_at} suffix=" ago" /> : "—"}
        </Fact>
        <Fact name="Last error">
          {relay?.last_error ? <span class="reason">{relay.last_error}</span> : "none"}
        </Fact>
      </dl>
    </section>
  );
}
