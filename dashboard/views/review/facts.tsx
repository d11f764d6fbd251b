/** The facts of a review: its task and its checks, what it cost, and what shares its files. */

import type { ComponentChildren } from "preact";
import { Age, State } from "../../components/basics.tsx";
import { PeerLink } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import { originText } from "protocol/derived/origins.ts";
import type { Review } from "../../state/records.ts";
import { link } from "../../state/router.ts";

export function Facts({ review }: { review: Review }) {
  const { author, others, state, rank, checks, decision, fails_with, inexact } = review;
  const hasChanged = decision?.kind === "accepted" && !decision.is_current;
  return (
    <header class="stack tight">
      <p class="cluster">
        <PeerLink id={author.peer_id} name={author.name} />
        <State of={state} tone={state === "ready" || state === "accepted" ? "good" : "calm"} />
        {hasChanged && <State of="changed since accepted" tone="warn" />}
        <span class="hint">{rank.words}</span>
      </p>
      <dl class="facts">
        <Task review={review} />
        {checks.length > 0 && (
          <Fact name="Checks">
            {checks.map(({ name, passed }) => (
              <State
                key={name}
                of={`${name} ${passed ? "passed" : "failed"}`}
                tone={passed ? "good" : "bad"}
              />
            ))}
          </Fact>
        )}
        <Cost review={review} />
        <Joined review={review} />
        {fails_with.length > 0 && (
          <Fact name="Fails together with">
            <State of="failed" tone="bad" /> <bdi>{visible(fails_with.join(", "))}</bdi>
          </Fact>
        )}
        {others.length > 0 && (
          <Fact name="Same folder">
            <bdi>{visible(others.join(", "))}</bdi>
          </Fact>
        )}
        {decision && (
          <Fact name="Decision">
            {decision.kind === "accepted" ? "accepted" : "sent back"} by{" "}
            <bdi>{visible(decision.by)}</bdi>, <Age at={decision.at} suffix=" ago" />
          </Fact>
        )}
      </dl>
      {inexact !== null && <p class="reason">{visible(inexact)}</p>}
    </header>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Task({ review: { task } }: { review: Review }) {
  if (!task) return null;
  return (
    <Fact name="Task">
      <a href={link(task.kind === "ask" ? "asks" : "jobs", task.id)}>{visible(task.title)}</a>
      {task.from !== null && <span class="hint">, from {visible(task.from)}</span>}
      {task.chain && <span class="hint">; began with {visible(originText(task.chain))}</span>}
    </Fact>
  );
}

function Cost({ review: { cost } }: { review: Review }) {
  if (!cost) return null;
  const tokens = (cost.input_tokens ?? 0) + (cost.output_tokens ?? 0);
  const price = cost.cost === null ? "" : `, ${cost.cost.toFixed(2)} ${cost.currency ?? ""}`;
  return <Fact name="Cost">{`${tokens.toLocaleString()} tokens${price}`}</Fact>;
}

function Joined({ review: { joined } }: { review: Review }) {
  if (joined.length === 0) return null;
  return (
    <Fact name="Shares files">
      {joined.map(({ review_id, name, files, files_total }) => (
        <p key={review_id}>
          <a href={link("review", review_id)}>{visible(name)}</a>:{" "}
          <bdi>{visible(files.join(", "))}</bdi>
          {files_total > files.length && ` and ${files_total - files.length} more`}
        </p>
      ))}
    </Fact>
  );
}
