/** Messages that are sent when something happens. */

import { Act, Age, Clock, Empty, ResourceView, State } from "../../components/basics.tsx";
import { Markdown } from "../../components/markdown.tsx";
import { To } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Subscription } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";
import { nameOfPeer } from "../../state/store.ts";

/** Maximum subscriptions shown; active ones come first. */
const SHOWN_MAX = "200";

export function Subscriptions() {
  const load = () => call(at.listSubscriptions, { query: { limit: SHOWN_MAX } });
  const resource = useResource("subscriptions", ["subscriptions"], load, { kept: true });
  return (
    <ResourceView resource={resource}>
      {({ subscriptions }) =>
        subscriptions.length === 0
          ? (
            <Empty title="No subscriptions" command="mesh when web idle">
              A subscription sends a message when something happens, such as the end of a peer's
              turn.
            </Empty>
          )
          : (
            <ul class="cards stack">
              {subscriptions.map((subscription) => (
                <Card
                  key={subscription.subscription_id}
                  subscription={subscription}
                  refresh={resource.refresh}
                />
              ))}
            </ul>
          )}
    </ResourceView>
  );
}

function Card({ subscription, refresh }: { subscription: Subscription; refresh: () => void }) {
  const { subscription_id, state, from_peer_name, to_peer, text, until, condition } = subscription;
  const cancel = () =>
    call(at.cancelSubscription, { params: { id: subscription_id } }).then(refresh);
  return (
    <li class="card" data-row tabIndex={-1}>
      <header>
        <bdi class="who">{visible(from_peer_name)}</bdi>
        <To />
        <bdi class="who">{visible(to_peer === null ? from_peer_name : nameOfPeer(to_peer))}</bdi>
        <State of={state} />
        <span class="grow" />
        <span>
          {until === null ? "once" : (
            <>
              until <Clock at={until} />
            </>
          )}
        </span>
        {state === "active" && (
          <Act run={cancel} class="danger" confirm="The message is not sent.">Cancel it</Act>
        )}
      </header>
      <p>
        <code>{visible(condition)}</code>
      </p>
      {text !== null && <Markdown text={text} />}
      <Last subscription={subscription} />
    </li>
  );
}

function Last({ subscription }: { subscription: Subscription }) {
  const { last_fired_at, last_proof, last_error } = subscription;
  return (
    <p class="hint">
      {last_fired_at
        ? (
          <>
            Sent <Age at={last_fired_at} suffix=" ago" />
            {last_proof && <>: {visible(last_proof)}</>}
          </>
        )
        : "Not sent yet"}
      {last_error && <span class="reason">{visible(` ${last_error.replaceAll("_", " ")}`)}</span>}
    </p>
  );
}
