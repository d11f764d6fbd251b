/** Shares: links by which a guest without an account reads or asks one peer. */

import * as at from "protocol/generated/endpoints.ts";
import { useState } from "preact/hooks";
import {
  Act,
  Age,
  Choices,
  Dialog,
  Empty,
  Failed,
  ResourceView,
} from "../../components/basics.tsx";
import { SelectField } from "../../components/fields.tsx";
import { Copy } from "../../components/copy.tsx";
import { QrCode } from "../../components/qr_code.tsx";
import { PeerLink } from "../../components/message.tsx";
import { call } from "../../state/calls.ts";
import type { Share } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";
import { localPeers } from "../../state/store.ts";

type Permissions = Share["permissions"];

const MAY: Readonly<Record<Permissions, string>> = {
  ro: "sees what happens",
  rw: "sees what happens, and asks",
};

const HOUR = 3600, DAY = 86_400;
const LIFETIMES: readonly (readonly [seconds: number, text: string])[] = [
  [HOUR, "1 hour"],
  [DAY, "1 day"],
  [7 * DAY, "7 days"],
  [30 * DAY, "30 days"],
];

export function Shares() {
  const [creating, setCreating] = useState(false);
  const [shown, setShown] = useState<Share | undefined>();
  const resource = useResource("shares", ["health"], () => call(at.listShares, {}), { kept: true });
  const created = (share: Share) => {
    setCreating(false);
    resource.refresh();
    setShown(share);
  };
  return (
    <section class="stack loose" aria-labelledby="shares">
      <header class="cluster">
        <h2 id="shares">Shares</h2>
        <button
          type="button"
          aria-expanded={creating}
          disabled={localPeers.value.length === 0}
          onClick={() => setCreating(!creating)}
        >
          New share
        </button>
        <button type="button" class="quiet" onClick={resource.refresh}>Reload</button>
      </header>
      {creating && <Create created={created} />}
      <ResourceView resource={resource}>
        {({ shares }) => (
          <>
            {shares.length === 0 && resource.error.value === undefined && (
              <Empty title="No shares" command="mesh share NAME">
                A share is a link to one agent. Anyone with the link can use it, without an account.
              </Empty>
            )}
            <ul class="cards stack">
              {shares.map((share) => (
                <Card
                  key={share.share_id}
                  share={share}
                  show={() => setShown(share)}
                  ended={resource.refresh}
                />
              ))}
            </ul>
          </>
        )}
      </ResourceView>
      {shown && <Code share={shown} close={() => setShown(undefined)} />}
    </section>
  );
}

function Card({ share, show, ended }: { share: Share; show: () => void; ended: () => void }) {
  const { share_id, url, peer_id, display_name, permissions, viewers, expires_at } = share;
  const end = () => call(at.revokeShare, { params: { id: share_id } }).then(ended);
  const guests = viewers === 1 ? "1 guest is connected" : `${viewers} guests are connected`;
  return (
    <li class="card" data-row tabIndex={-1}>
      <header>
        <PeerLink id={peer_id} name={display_name} />
        <span class="kind hint">{MAY[permissions] ?? permissions}</span>
        <span class="grow" />
        <span class="hint">
          {guests} · ends <Age at={expires_at} future />
        </span>
      </header>
      <p class="command">
        <code>{url}</code>
      </p>
      <div class="answer-tools cluster">
        <Copy text={url} label="Copy the link" />
        <button type="button" class="quiet" onClick={show}>QR code</button>
        <span class="grow" />
        <Act
          run={end}
          class="danger"
          confirm="The link stops working, and its guests are disconnected at once."
        >
          End it
        </Act>
      </div>
    </li>
  );
}

function Code({ share, close }: { share: Share; close: () => void }) {
  const { url, display_name, permissions, expires_at } = share;
  return (
    <Dialog title={`Share of ${display_name}`} close={close}>
      <QrCode text={url} label="QR code of the link" />
      <p class="command">
        <code>{url}</code>
      </p>
      <p class="hint">
        Anyone with this link {MAY[permissions] ?? permissions}. It ends{" "}
        <Age at={expires_at} future />, and when the relay restarts.
      </p>
      <footer>
        <Copy text={url} label="Copy the link" />
      </footer>
    </Dialog>
  );
}

function Create({ created }: { created: (share: Share) => void }) {
  const [peer, setPeer] = useState(localPeers.value[0]?.peer_id ?? "");
  const [permissions, setPermissions] = useState<Permissions>("ro");
  const [ttl_seconds, setLifetime] = useState(DAY);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    const body = { peer, permissions, ttl_seconds };
    await call(at.createShare, { body }).then(created, setError);
    setBusy(false);
  };
  return (
    <form class="card form" onSubmit={submit}>
      <SelectField
        label="Agent"
        value={peer}
        options={localPeers.value.map(({ peer_id, name, circle }) =>
          [peer_id, `${name} (${circle})`] as const
        )}
        choose={setPeer}
      />
      <SelectField
        label="Valid for"
        value={String(ttl_seconds)}
        options={LIFETIMES.map(([seconds, text]) => [String(seconds), text] as const)}
        choose={(seconds) => setLifetime(Number(seconds))}
      />
      <Choices
        label="What a guest may do"
        chosen={permissions}
        choose={setPermissions}
        options={[["ro", "Only watch"], ["rw", "Watch and ask"]]}
      />
      {error !== undefined && <Failed error={error} />}
      <div class="answer-tools cluster">
        <button type="submit" class="primary" disabled={busy || !peer}>Create the link</button>
      </div>
    </form>
  );
}
