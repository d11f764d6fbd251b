/** Asks: open and closed, by age, and one ask with the chain that it belongs to. */

import { Act, Age, Choices, Empty, ResourceView, State } from "../components/basics.tsx";
import { Markdown } from "../components/markdown.tsx";
import { Attachments, PeerLink, To } from "../components/message.tsx";
import { BudgetLines } from "../components/notes/budget_lines.tsx";
import { ProofView } from "../components/notes/proof.tsx";
import { WaitNoteOf } from "../components/notes/wait_note.tsx";
import { visible } from "../components/text/visible.tsx";
import { TraceView } from "../components/trace.tsx";
import { call, isRefusal } from "../state/calls.ts";
import { endedInTerminal } from "protocol/derived/endings.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Ask } from "../state/records.ts";
import { only, useResource } from "../state/resource.ts";
import { filter, link, route } from "../state/router.ts";
import { humanName } from "../state/session.ts";
import { AskRow, OpenAsks } from "./open_asks.tsx";

const LIMIT = 200;
/** A chain is followed this far back. */
const CHAIN_MAX = 12;

export function Asks() {
  const { id, query } = route.value;
  const state = query.get("state") === "closed" ? "closed" : "open";
  if (id) return <AskDetail id={id} />;
  return (
    <>
      <div class="toolbar">
        <Choices
          label="State"
          chosen={state}
          choose={(next) => filter({ state: next === "open" ? "" : next })}
          options={[["open", "Open"], ["closed", "Closed"]]}
        />
      </div>
      <AskList key={state} state={state} />
    </>
  );
}

function AskList({ state }: { state: "open" | "closed" }) {
  const load = () => call(at.listAsks, { query: { state, limit: String(LIMIT) } });
  const resource = useResource(`asks ${state}`, ["asks"], load, { kept: true });
  return (
    <ResourceView resource={resource}>
      {({ asks }) => (
        <>
          {asks.length === 0 && (
            <Empty
              title={state === "open" ? "No open asks" : "No closed asks"}
              command='mesh ask NAME "What are you working on?" --wait'
            >
              An ask stays open until it is answered, declined or cancelled.
            </Empty>
          )}
          {state === "open" ? <OpenAsks asks={asks} /> : (
            <ul class="list">
              {asks.map((ask) => (
                <li key={ask.correlation_id}>
                  <AskRow ask={ask} />
                </li>
              ))}
            </ul>
          )}
          {asks.length === LIMIT && <p class="hint">{`The newest ${LIMIT} asks are shown.`}</p>}
        </>
      )}
    </ResourceView>
  );
}

function AskDetail({ id }: { id: string }) {
  const chain = useResource(`ask ${id}`, ["asks"], () => loadChain(id), { kept: true });
  const resource = only(chain, [id]);
  return (
    <div class="column stack loose">
      <p class="up">
        <a href={link("asks")}>
          ← All asks
        </a>
      </p>
      <ResourceView resource={resource}>
        {(chain) =>
          chain.length === 0
            ? <Empty title="This ask is not known">Closed asks are kept for 30 days.</Empty>
            : (
              <ol class="stack">
                {chain.map((ask) => (
                  <AskCard key={ask.correlation_id} ask={ask} last={ask.correlation_id === id} />
                ))}
              </ol>
            )}
      </ResourceView>
    </div>
  );
}

/** The ask and the asks that it follows up, oldest first; empty if it is unknown. */
async function loadChain(id: string): Promise<Ask[]> {
  const chain: Ask[] = [];
  let next: string | null = id;
  while (next !== null && chain.length < CHAIN_MAX) {
    try {
      const ask: Ask = await call(at.getAsk, { params: { id: next } });
      chain.unshift(ask);
      next = ask.reply_to;
    } catch (error) {
      if (!isRefusal(error, "unknown_ask")) throw error;
      break;
    }
  }
  return chain;
}

function AskCard({ ask, last }: { ask: Ask; last: boolean }) {
  const { correlation_id, from_peer_id, from_peer_name } = ask;
  const options = ask.question?.options ?? [];
  const cancel = () =>
    call(at.cancelAsk, {
      params: { id: correlation_id },
      body: { peer_id: humanName.value ?? from_peer_id ?? from_peer_name },
    });
  return (
    <li class="card">
      <header>
        <PeerLink id={from_peer_id} name={from_peer_name} />
        <To />
        <PeerLink id={ask.to_peer_id} name={ask.to_peer_name} />
        <State of={ask.outcome ?? ask.state} />
        {ask.proof && <State of={ask.proof.state} />}
        <span class="grow" />
        <Age at={ask.created_at} suffix=" ago" />
      </header>
      <Markdown text={ask.text} />
      <Attachments of={ask.attachments} />
      {options.length > 0 && (
        <p class="hint">Options: {visible(options.map(({ title }) => title).join(" · "))}</p>
      )}
      {ask.closed_at && (
        <div class="reply rail good stack tight">
          <header>
            <bdi class="who">{visible(ask.responder ?? "mesh")}</bdi>
            {!ask.reply && <State of={endOf(ask)} />}
            <Age at={ask.closed_at} suffix=" ago" />
          </header>
          {ask.reply && <Markdown text={ask.reply} />}
          <Attachments of={ask.reply_attachments} />
        </div>
      )}
      {ask.proof && <ProofView proof={ask.proof} />}
      {ask.state === "open" && !last && <WaitNoteOf id={ask.to_peer_id} />}
      {last && <BudgetLines of={correlation_id} />}
      <p class="hint">
        <code>{correlation_id}</code>
      </p>
      {last && <TraceView id={correlation_id} />}
      {ask.state === "open" && (
        <div class="answer-tools cluster">
          <Act
            run={cancel}
            class="danger"
            confirm={`The ask is closed for both sides, and ${ask.to_peer_name} need not answer it.`}
          >
            Cancel the ask
          </Act>
        </div>
      )}
    </li>
  );
}

/** After a decision in the agent's own terminal, the outcome says more than the close reason. */
function endOf({ outcome, close_reason }: Ask): string {
  return (endedInTerminal(outcome) ? outcome : close_reason) ?? "closed";
}
