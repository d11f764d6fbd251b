/** Reconnects a peer: reports its transports, and brings it back if its process is proved. */

import { Fact, ResourceView, State } from "../../components/basics.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { refreshTopics, useResource } from "../../state/resource.ts";
import { type ActionProps, ActionWindow, useAct } from "../../components/window.tsx";

export function Rehook({ peer: { peer_id, name }, close }: ActionProps) {
  const rehook = (apply: boolean) =>
    call(at.rehookPeer, { params: { id: peer_id }, query: {}, body: { apply } });
  const checked = useResource(`${peer_id} rehook`, ["peers"], () => rehook(false));
  const { act, result, ...state } = useAct(
    () => rehook(true),
    () => refreshTopics(["peers", "health"]),
  );
  const found = result ?? checked.value.value;
  return (
    <ActionWindow
      title={`Reconnect ${name}`}
      label="Bring it back"
      close={close}
      done={result !== undefined}
      act={found?.would_do ? act : undefined}
      {...state}
    >
      <ResourceView resource={checked}>
        {() => (
          <div role="status" class="plan">
            {found && <Report found={found} acted={result !== undefined} />}
          </div>
        )}
      </ResourceView>
    </ActionWindow>
  );
}

type RehookReport = Awaited<ReturnType<typeof call<typeof at.rehookPeer>>>;

function Report({ found, acted }: { found: RehookReport; acted: boolean }) {
  const { healthy, transport, would_do, reason, acted: changed } = found;
  return (
    <>
      <dl class="facts">
        <Fact name="Messages reach it">
          {healthy ? <>by {transport}</> : <State of="no" tone="bad" />}
        </Fact>
        {reason !== null && (
          <>
            <Fact name={acted || would_do !== null ? "It was offline" : "Reason"}>
              {reason.replaceAll("_", " ")}
            </Fact>
          </>
        )}
        {would_do !== null && (
          <>
            <Fact name={changed ? "Done" : "Can be done"}>{would_do}</Fact>
          </>
        )}
      </dl>
      {!acted && would_do === null && (
        <p class="hint">
          {healthy
            ? "There is nothing to mend."
            : "It cannot be reconnected without its program: restart it, or look at its evidence."}
        </p>
      )}
    </>
  );
}
