/** Limits: the accounts of agents, how far they are used, and what waits for those at a limit. */

import { windowWords } from "protocol/derived/limits.ts";
import { statusWithSleep } from "protocol/derived/wakes.ts";
import * as at from "protocol/generated/endpoints.ts";
import { Act, Age, State } from "../components/basics.tsx";
import { PeerLink } from "../components/message.tsx";
import { visible } from "../components/text/visible.tsx";
import { call } from "../state/calls.ts";
import type { Limit } from "../state/records.ts";
import { useResource } from "../state/resource.ts";
import { now, peersById } from "../state/store.ts";

/** The limits of all accounts; nothing while none is known. */
export function Limits() {
  const load = async () => (await call(at.listLimits, { query: {} })).limits;
  const { value: { value: limits }, refresh } = useResource("limits", ["limits"], load);
  return limits && limits.length > 0 ? <LimitList limits={limits} refresh={refresh} /> : null;
}

export function LimitList({ limits, refresh }: { limits: readonly Limit[]; refresh: () => void }) {
  return (
    <section class="group stack" aria-label="Limits of accounts">
      <h2>Limits</h2>
      <ul class="stack">
        {limits.map((limit) => (
          <LimitCard
            key={limit.account_id}
            limit={limit}
            refresh={refresh}
          />
        ))}
      </ul>
    </section>
  );
}

function LimitCard({ limit, refresh }: { limit: Limit; refresh: () => void }) {
  const { account_id, account, backend, detail, evidence, peers, queued, state, windows } = limit;
  const resume = () => call(at.resumeLimit, { params: { id: account_id }, body: {} }).then(refresh);
  const isHeld = state !== "clear" && state !== "probing";
  return (
    <li class="card stack tight" data-row tabIndex={-1}>
      <header>
        <span class="who">{backend}</span>
        <bdi class="hint">{visible(account)}</bdi>
        <State of={state} />
        <span class="grow" />
        {queued > 0 && <span class="hint">{queued} waiting</span>}
        {isHeld && (
          <Act run={resume} confirm="One waiting message is sent now, to see if it is answered.">
            Try it now
          </Act>
        )}
      </header>
      {state !== "clear" && <p class={isHeld ? "reason" : "hint"}>{visible(detail)}</p>}
      {windows.map(({ window, used_percent, resets_at, at: recorded_at }) => (
        <p key={window} class="hint">
          {windowWords(window)}: {Math.round(used_percent)} % used
          {resets_at && (
            <>
              , {Date.parse(resets_at) > now.value ? "resets" : "reset"}{" "}
              <Age at={resets_at} future />
            </>
          )}
          {recorded_at && (
            <>
              , recorded <Age at={recorded_at} suffix=" ago" />
            </>
          )}
        </p>
      ))}
      {evidence?.text && (
        <p class="hint">
          By its {evidence.source}: <bdi>{visible(evidence.text)}</bdi>
        </p>
      )}
      <div class="cluster">
        <span class="hint">{peers.length > 0 ? "Used by" : "No peer uses it now"}</span>
        {peers.map(({ peer_id, name }) => (
          <span key={peer_id}>
            <PeerLink id={peer_id} name={name} /> <Sleep peer_id={peer_id} />
          </span>
        ))}
      </div>
      {isHeld && peers[0] && (
        <p class="hint">
          Another agent can take the work over:{" "}
          <code>mesh peer switch {visible(peers[0].name)} --backend BACKEND</code>
        </p>
      )}
    </li>
  );
}

/** A peer of an account that is asleep or offline: its next turn begins when it wakes. */
function Sleep({ peer_id }: { peer_id: string }) {
  const peer = peersById.value.get(peer_id);
  return peer?.status === "offline" ? <State of={statusWithSleep(peer)} /> : null;
}
