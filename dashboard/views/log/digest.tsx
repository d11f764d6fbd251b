/** The digest of the last 24 hours, in a fold that loads it when it is opened. */

import * as at from "protocol/generated/endpoints.ts";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Age, ResourceView, State } from "../../components/basics.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import type { Digest } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";
import { link } from "../../state/router.ts";

const SHOWN_MAX = 20;

export function DigestFold() {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="context" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>The last 24 hours</summary>
      {isOpen && <DigestView />}
    </details>
  );
}

function DigestView() {
  const query = { since: "24h", limit: String(SHOWN_MAX) };
  const load = (signal: AbortSignal) => call(at.getDigest, { query, signal });
  const resource = useResource("digest", ["asks", "inbox", "jobs", "turns"], load);
  return (
    <ResourceView resource={resource}>
      {(digest) => <DigestSections digest={digest} />}
    </ResourceView>
  );
}

export function DigestSections({ digest }: { digest: Digest }) {
  const { decisions, answers, checks, limits, waiting, counts } = digest;
  return (
    <div class="stack">
      <Section title="Waits for you" count={counts.waiting} of={waiting}>
        {({ from, text, created_at }) => (
          <>
            <a href={link("attention")}>
              <bdi>{visible(from)}</bdi>
            </a>: <bdi>{visible(text)}</bdi> <Age at={created_at} />
          </>
        )}
      </Section>
      <Section title="Your decisions" count={counts.decisions} of={decisions}>{ended}</Section>
      <Section title="Answers" count={counts.answers} of={answers}>{ended}</Section>
      <Section title="Jobs and checks" count={counts.checks} of={checks}>
        {({ job_id, title, state, checks, ended_at }) => (
          <>
            <a href={link("jobs", job_id)}>
              <bdi>{visible(title)}</bdi>
            </a>{" "}
            <State of={state} /> {visible(checks.map(resultOf).join(", "))} <Age at={ended_at} />
          </>
        )}
      </Section>
      <Section title="Limits, budgets and loops" count={counts.limits} of={limits}>
        {({ peer_name, subject, reason, event, at }) => (
          <>
            <bdi>{visible(peer_name ?? subject ?? "")}</bdi>:{" "}
            {visible((reason ?? event).replaceAll("_", " "))} <Age at={at} />
          </>
        )}
      </Section>
      {Object.values(counts).every((count) => count === 0) && (
        <p class="hint">Nothing happened, and nothing waits for you.</p>
      )}
    </div>
  );
}

function resultOf({ name, exit }: Digest["checks"][number]["checks"][number]): string {
  return `${name} ${exit === 0 ? "passed" : "failed"}`;
}

function ended(
  { correlation_id, from_peer_name, question, answer, outcome, ...ask }: Digest["answers"][number],
) {
  const { responder, to_peer_name, closed_at } = ask;
  return (
    <>
      <bdi>{visible(from_peer_name)}</bdi>:{" "}
      <a href={link("asks", correlation_id)}>
        <bdi>{visible(question)}</bdi>
      </a>{" "}
      → <bdi>{visible(responder ?? to_peer_name)}</bdi>: <bdi>{visible(answer ?? outcome)}</bdi>
      {" "}
      <Age at={closed_at} />
    </>
  );
}

function Section<Entry>({ title, count, of, children }: {
  title: string;
  count: number;
  of: readonly Entry[];
  children: (entry: Entry) => ComponentChildren;
}) {
  if (count === 0) return null;
  return (
    <section>
      <h3>{`${title} (${count})`}</h3>
      <ul>
        {of.map((entry, index) => (
          <li key={index}>
            <p>{children(entry)}</p>
          </li>
        ))}
      </ul>
      {count > of.length && <p class="hint">{`${count - of.length} more: mesh digest`}</p>}
    </section>
  );
}
