/** Notifications on this device while the page is closed, and the devices that get them. */

import { useEffect, useState } from "preact/hooks";
import { Act, Age, Empty, Fact, Failed, ResourceView } from "../../components/basics.tsx";
import { visible } from "../../components/text/visible.tsx";
import {
  checkPush,
  push,
  type PushState,
  subscribe,
  unsubscribe,
} from "../../state/browser/push.ts";
import { offline } from "../../state/browser/offline.ts";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { PushDevice } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";
import { sessionState } from "../../state/session.ts";

const TOPICS = [
  ["questions", "Questions"],
  ["approvals", "Permissions"],
  ["done", "Replies, reports and notices"],
] as const;

export function PushSettings() {
  return sessionState.value === "human" ? <OwnPush /> : <NotYours />;
}

function OwnPush() {
  const resource = useResource("push", ["push"], () => call(at.listPush, {}), { kept: true });
  const devices = resource.value.value?.subscriptions;
  const ready = offline.value;
  useEffect(() => void (devices && checkPush(devices)), [devices, ready]);
  return (
    <section class="card stack loose" aria-labelledby="push">
      <h2 id="push">Notifications while the page is closed</h2>
      <ResourceView resource={resource}>
        {({ public_key, subscriptions }) => (
          <>
            <ThisDevice public_key={public_key} devices={subscriptions} />
            <h3>Devices</h3>
            {subscriptions.length === 0 && (
              <Empty title="No device gets notifications">
                Switch them on here, and on your phone through the relay.
              </Empty>
            )}
            <ul class="cards stack">
              {subscriptions.map((device) => (
                <Device
                  key={device.subscription_id}
                  device={device}
                />
              ))}
            </ul>
          </>
        )}
      </ResourceView>
    </section>
  );
}

function NotYours() {
  return (
    <section class="card" aria-labelledby="push">
      <h2 id="push">Notifications while the page is closed</h2>
      <p class="hint">
        Only a page that speaks as you may switch them on: run <code>mesh open</code> in a terminal.
      </p>
    </section>
  );
}

function textOf(state: PushState): string {
  switch (state.state) {
    case "asking":
      return "Being set up.";
    case "unsupported":
      return `Not available: ${state.reason}.`;
    case "blocked":
      return "Blocked for this page in the settings of the browser. Allow notifications there.";
    case "off":
      return "Off.";
    case "on":
      return "On: the content is encrypted for this browser.";
  }
}

function ThisDevice(
  { public_key, devices }: { public_key: string; devices: readonly PushDevice[] },
) {
  const { value } = push;
  const [error, setError] = useState<unknown>();
  const run = (work: () => Promise<void>) => {
    setError(undefined);
    work().catch(setError);
  };
  const own = value.state === "on"
    ? devices.find(({ subscription_id }) => subscription_id === value.subscription_id)
    : undefined;
  return (
    <>
      <dl class="facts browser-facts">
        <Fact name="This device">
          <span role="status">{textOf(value)}</span>
          {value.state === "off" && (
            <button
              type="button"
              onClick={() => run(() => subscribe(public_key))}
            >
              Switch on notifications
            </button>
          )}
          {own && (
            <button type="button" class="quiet" onClick={() => run(unsubscribe)}>
              Switch off notifications
            </button>
          )}
        </Fact>
        {own && (
          <Fact name="Show">
            <Topics device={own} />
          </Fact>
        )}
      </dl>
      {error !== undefined && <Failed error={error} />}
    </>
  );
}

function Topics({ device }: { device: PushDevice }) {
  const [error, setError] = useState<unknown>();
  const change = (topic: (typeof TOPICS)[number][0], wanted: boolean) =>
    call(at.changePush, {
      params: { id: device.subscription_id },
      body: { [topic]: wanted },
    }).then(() => setError(undefined), setError);
  return (
    <span class="cluster">
      {TOPICS.map(([topic, label]) => (
        <label key={topic} class="check row">
          <input
            type="checkbox"
            checked={device[topic]}
            onChange={(event) => change(topic, event.currentTarget.checked)}
          />
          {label}
        </label>
      ))}
      {error !== undefined && <Failed error={error} />}
    </span>
  );
}

const LAST: Readonly<Record<NonNullable<PushDevice["last"]>["state"], string>> = {
  queued: "waits to be sent",
  sending: "is being sent",
  taken: "was taken by the push service",
  shown: "was shown",
  opened: "was opened",
  dismissed: "was dismissed",
  failed: "failed",
  dropped: "was not needed any more",
};

function Device({ device }: { device: PushDevice }) {
  const { subscription_id, name, service, via, last, created_at, ended_at, end_reason } = device;
  const params = { id: subscription_id };
  return (
    <li class="card" data-row tabIndex={-1}>
      <header>
        <strong>{visible(name)}</strong>
        <span class="kind hint">
          {via === "relay" ? "through the relay" : "this machine's page"}
        </span>
        <span class="grow" />
        <span class="hint">
          since <Age at={created_at} />
        </span>
      </header>
      <p class="hint">
        {service}
        {last && (
          <>
            : the last one {LAST[last.state] ?? last.state}
            {last.reason && ` (${last.reason})`}, <Age at={last.at} suffix=" ago" />
          </>
        )}
      </p>
      {ended_at !== null && (
        <p class="reason" role="status">It gets no more notifications: {end_reason}.</p>
      )}
      <div class="answer-tools cluster">
        {ended_at === null && <Act run={() => call(at.testPush, { params })}>Send a test</Act>}
        <span class="grow" />
        <Act
          run={() => call(at.unsubscribePush, { params })}
          class="danger"
          confirm="This device gets no more notifications."
        >
          Remove
        </Act>
      </div>
    </li>
  );
}
