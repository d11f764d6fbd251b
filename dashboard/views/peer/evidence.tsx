/** The daemon's knowledge about a peer, its sources, and its age. */

import { Age, Fact, ResourceView } from "../../components/basics.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import { isRemote } from "../../state/remote.ts";
import { contextText, countText } from "protocol/derived/usage.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { DoctorReport, Peer, Usage } from "../../state/records.ts";
import { only, useResource } from "../../state/resource.ts";
import { Reach } from "../mesh/peer_card.tsx";

type CheckRecord = DoctorReport["checks"][number];

export function Evidence({ peer }: { peer: Peer }) {
  const { agent_pid, registered_at, machine, role } = peer;
  return (
    <div class="scroll-area column stack loose" tabIndex={0} role="region" aria-label="Evidence">
      <dl class="facts">
        <Fact name="Messages reach it">
          <Reach peer={peer} />
        </Fact>
        <Fact name="Registered">
          <Age at={registered_at} suffix=" ago" />
        </Fact>
        {isRemote(peer)
          ? (
            <Fact name="Machine">
              <bdi>{visible(machine ?? "not known")}</bdi> <code>{peer.daemon_id}</code>
            </Fact>
          )
          : role !== "human" && (
            <>
              <Fact name="Process">{agent_pid ?? "unknown"}</Fact>
              <Fact name="Pane">{paneOf(peer)}</Fact>
            </>
          )}
        <Fact name="Id">
          <code>{peer.peer_id}</code>
        </Fact>
      </dl>
      {!isRemote(peer) && peer.role !== "human" && <SessionUsage key={peer.peer_id} peer={peer} />}
      {isRemote(peer)
        ? (
          <p class="hint">
            Its own machine examines its processes and panes: <code>mesh doctor</code> there.
          </p>
        )
        : <Examination peer={peer} />}
    </div>
  );
}

function paneOf({ pane_id, terminal, tmux_session }: Peer): string {
  if (pane_id === null) return "none";
  if (terminal === "kitty") return `kitty window ${pane_id}`;
  return `${pane_id}${tmux_session ? ` in ${tmux_session}` : ""}`;
}

function Examination({ peer }: { peer: Peer }) {
  const load = () => call(at.diagnosePeer, { params: { id: peer.peer_id }, query: {} });
  // An examination reads processes and panes, so only events of this peer cause one.
  const key = `${peer.peer_id} ${peer.status} doctor`;
  const resource = only(useResource(key, ["health"], load), [peer.peer_id]);
  return (
    <ResourceView resource={resource}>
      {({ checks, contradictions }) => (
        <>
          {contradictions.map(({ code, severity, detail }) => (
            <p key={code} class={`rail warn ${severity}`}>
              <strong>{severity}: {code.toLowerCase().replaceAll("_", " ")}</strong>{" "}
              {visible(detail)}
            </p>
          ))}
          <p class="cluster between">
            <strong>Checks</strong>
            <button type="button" class="quiet" onClick={resource.refresh}>Examine again</button>
          </p>
          <ul class="checks stack">
            {checks.map((check) => (
              <Check key={check.name} check={check} reached={peer.inbound_status === "ok"} />
            ))}
          </ul>
        </>
      )}
    </ResourceView>
  );
}

/** A way that a peer does not use is no fault while messages reach the peer by another one. */
function Check({ check, reached }: { check: CheckRecord; reached: boolean }) {
  const { name, source, age_seconds, detail } = check;
  const is_unused = check.ok === false && reached && name.startsWith("transport");
  const ok = is_unused ? null : check.ok;
  const age = age_seconds === null ? null : `${Math.round(age_seconds)} s old`;
  return (
    <li class={ok === null ? "" : ok ? "ok" : "fail"}>
      <strong>{name.replaceAll("_", " ")}</strong>
      <span>
        <span class={`check-sign ${ok === null ? "" : "tone"}`}>
          {is_unused ? "– not used" : ok === null ? "? unknown" : ok ? "✓ ok" : "✕ fails"}
        </span>
        {visible(detail.replaceAll("_", " "))}
      </span>
      <span class="age">{[source, age].filter(Boolean).join(" · ")}</span>
    </li>
  );
}

function SessionUsage({ peer: { peer_id } }: { peer: Peer }) {
  const load = () => call(at.getUsage, { params: { id: peer_id }, query: {} });
  const resource = only(useResource(`usage ${peer_id}`, ["turns", "usage"], load), [peer_id]);
  return (
    <ResourceView resource={resource}>
      {(found) => (
        <dl class="facts">
          <Fact name="Tokens">{visible(tokensOf(found))}</Fact>
          <Fact name="Context">{contextText(found.usage)}</Fact>
        </dl>
      )}
    </ResourceView>
  );
}

function tokensOf({ usage, reason }: Usage): string {
  if (!usage) return `not recorded: ${reason ?? ""}`;
  const { input_tokens, cached_tokens, output_tokens } = usage;
  return `${countText(input_tokens)} in, ${countText(cached_tokens)} of it cached, ${
    countText(output_tokens)
  } out`;
}
