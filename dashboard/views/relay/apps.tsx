/** Connected apps: programs that a person has allowed to use agents through the relay. */

import { Act, Age, Empty, ResourceView } from "../../components/basics.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call, isRefusal, relayCall, RELAYED } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { App } from "../../state/records.ts";
import { type Resource, useResource } from "../../state/resource.ts";

const WRITE = "agents:write";

/** Behind a relay the page asks the relay itself, which knows the apps of every machine. */
const APPS = RELAYED
  ? {
    list: () => relayCall(at.relayListApps, {}),
    revoke: (id: string) => relayCall(at.relayRevokeApp, { params: { id } }),
  }
  : {
    list: () => call(at.listApps, {}),
    revoke: (id: string) => call(at.revokeApp, { params: { id } }),
  };

export function Apps() {
  const resource = useResource("apps", ["health"], APPS.list, { kept: true });
  return (
    <section class="stack loose" aria-labelledby="apps">
      <header class="cluster">
        <h2 id="apps">Connected apps</h2>
        <button type="button" class="quiet" onClick={resource.refresh}>Reload</button>
      </header>
      <List resource={resource} />
    </section>
  );
}

function List({ resource }: { resource: Resource<{ apps: App[] }> }) {
  if (isRefusal(resource.error.value, "oauth_disabled")) {
    return (
      <Empty title="This relay lets no app connect">
        Its operator has not set up sign-in for apps.
      </Empty>
    );
  }
  return (
    <ResourceView resource={resource}>
      {({ apps }) => (
        <>
          {apps.length === 0 && resource.error.value === undefined && (
            <Empty title="No app is connected">
              An app appears here once you have allowed it on the relay's page.
            </Empty>
          )}
          {apps.length > 0 && (
            <p class="hint">An app reaches every machine that has this relay secret.</p>
          )}
          <ul class="cards stack">
            {apps.map((app) => <Card key={app.grant_id} app={app} ended={resource.refresh} />)}
          </ul>
        </>
      )}
    </ResourceView>
  );
}

function Card({ app, ended }: { app: App; ended: () => void }) {
  const { grant_id, client_id, client_name, scope, granted_at, renewed_at, expires_at } = app;
  const name = client_name ?? client_id;
  const writes = scope.split(" ").includes(WRITE);
  return (
    <li class="card" data-row tabIndex={-1}>
      <header>
        <span class="who">
          <bdi>{visible(name)}</bdi>
        </span>
        <span class="kind hint">{writes ? "reads, asks and sends" : "only reads"}</span>
        <span class="grow" />
        <span class="hint">
          allowed <Age at={granted_at} suffix=" ago" /> · renewed{" "}
          <Age at={renewed_at} suffix=" ago" /> · ends <Age at={expires_at} future />
        </span>
      </header>
      <ul class="hint">
        <li>It sees machines and agents, and reads the replies to its own requests.</li>
        {writes && <li>It asks agents to work, and sends them messages.</li>}
      </ul>
      <div class="answer-tools cluster">
        <span class="hint">Its name is its own choice; nobody has checked it.</span>
        <span class="grow" />
        <Act
          run={() => APPS.revoke(grant_id).then(ended)}
          class="danger"
          label={`Revoke ${name}`}
          confirm="Further requests of the app are refused. Agents finish work that they already have."
        >
          Revoke
        </Act>
      </div>
    </li>
  );
}
