/** Paired browsers, and pairing a phone by a one-time code. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Act, Age, Dialog, Empty, Failed, ResourceView } from "../../components/basics.tsx";
import { Copy } from "../../components/copy.tsx";
import { QrCode } from "../../components/qr_code.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { PairedDevice, PhoneCode } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";
import { route } from "../../state/router.ts";
import { sessionState } from "../../state/session.ts";

/** Only a page that speaks as the person may see them. */
export function Devices() {
  return sessionState.value === "human" ? <DeviceList /> : null;
}

function DeviceList() {
  const resource = useResource("devices", ["push"], () => call(at.listDevices, {}), { kept: true });
  const section = useRef<HTMLElement>(null);
  const isAsked = route.value.query.get("part") === "devices";
  useEffect(() => {
    if (isAsked) section.current?.scrollIntoView();
  }, [isAsked]);
  const [code, setCode] = useState<PhoneCode>();
  const [error, setError] = useState<unknown>();
  const pair = () => {
    setError(undefined);
    call(at.createCode, {}).then(setCode, setError);
  };
  return (
    <section class="stack loose" aria-labelledby="devices" ref={section}>
      <header class="cluster">
        <h2 id="devices">Paired devices</h2>
        <button type="button" onClick={pair}>Pair a phone</button>
      </header>
      {error !== undefined && <Failed error={error} />}
      <ResourceView resource={resource}>
        {({ devices }) => (
          <>
            {devices.length === 0 && (
              <Empty title="No device is paired" command="mesh open --phone">
                A code gives a phone a session of its own, without a secret. You can end it here.
              </Empty>
            )}
            <ul class="cards stack">
              {devices.map((device) => (
                <Device key={device.device_id} device={device} ended={resource.refresh} />
              ))}
            </ul>
          </>
        )}
      </ResourceView>
      {code && <Code code={code} close={() => setCode(undefined)} />}
    </section>
  );
}

function Device({ device, ended }: { device: PairedDevice; ended: () => void }) {
  const { device_id, name, via, used_at, expires_at, is_this } = device;
  const remove = () => call(at.removeDevice, { params: { id: device_id } }).then(ended);
  return (
    <li class="card" data-row tabIndex={-1}>
      <header>
        <strong>{visible(name)}</strong>
        <span class="kind hint">{via === "relay" ? "through the relay" : "directly"}</span>
        {is_this && <span class="kind hint">this device</span>}
        <span class="grow" />
        <span class="hint">
          used <Age at={used_at} suffix=" ago" /> · ends <Age at={expires_at} future />
        </span>
      </header>
      <div class="answer-tools cluster">
        <span class="grow" />
        <Act
          run={remove}
          class="danger"
          confirm="Its session, its open pages and its notifications end at once."
        >
          End its session
        </Act>
      </div>
    </li>
  );
}

function Code({ code, close }: { code: PhoneCode; close: () => void }) {
  const { addresses, expires_at, notes } = code;
  const [first] = addresses;
  return (
    <Dialog title="Pair a phone" close={close}>
      {first
        ? (
          <>
            <QrCode text={first.url} label="QR code of the address with the code" />
            <ul>
              {addresses.map(({ url }) => (
                <li key={url}>
                  <code>{url.split("#", 1)}</code>
                </li>
              ))}
            </ul>
            <p>
              Scan the QR code, or open an address on the phone and enter{" "}
              <strong>{code.code}</strong> <Copy text={code.code} />
            </p>
            <p class="hint">
              The code counts once, and ends{" "}
              <Age at={expires_at} future />. The phone then speaks as you, until you end its
              session here.
            </p>
          </>
        )
        : (
          <p class="reason" role="alert">
            No address of this machine can be reached from a phone.
          </p>
        )}
      {notes.map((note) => <p key={note} class="hint">{note}.</p>)}
    </Dialog>
  );
}
