/** The suggested order in which work trees land, and the work that fails together. */

import * as at from "protocol/generated/endpoints.ts";
import { Age, Empty, State, type Tone } from "../../components/basics.tsx";
import { PeerLink } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import type { JointChecks } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";
import { link } from "../../state/router.ts";

type Repository = JointChecks["repositories"][number];
type WorkTree = Repository["work_trees"][number];
type Pair = Repository["pairs"][number];

const TONES: Readonly<Record<WorkTree["result"], Tone>> = {
  passed: "good",
  failed: "bad",
  unknown: "calm",
};

/** `isUseful`: there are several changes, which could be joined. */
export function Landing({ isUseful }: { isUseful: boolean }) {
  const load = () => call(at.listJointChecks, { query: {} });
  const found = useResource("joint checks", ["joint_checks"], load).value.value;
  if (!found || (found.check === null && !isUseful)) return null;
  return (
    <section aria-label="Order of landing">
      <LandingOrder found={found} />
    </section>
  );
}

export function LandingOrder({ found: { check, repositories } }: { found: JointChecks }) {
  return (
    <div class="stack tight">
      <h2>Order of landing</h2>
      {check === null && (
        <Empty title="Joint checks are off" command="mesh config set joint_checks.check tests">
          mesh can join the work of two agents in a temporary folder and run a check of jobs.checks
          there. Then you see here in which order their work lands, and which work fails together.
        </Empty>
      )}
      {check !== null && repositories.length === 0 && (
        <p class="hint">No repository has the work trees of two agents.</p>
      )}
      {check !== null &&
        repositories.map((repository) => (
          <OrderOf key={repository.repository} repository={repository} check={check} />
        ))}
    </div>
  );
}

function OrderOf({ repository, check }: { repository: Repository; check: string }) {
  const { work_trees, pairs, checked_at } = repository;
  const nameOf = (id: string) => work_trees.find(({ peer_id }) => peer_id === id)?.name ?? id;
  return (
    <>
      <p class="hint">
        <bdi>{visible(repository.repository.replace(/\/\.git$/, ""))}</bdi>, {visible(check)}
        {checked_at !== null && (
          <>
            , <Age at={checked_at} suffix=" ago" />
          </>
        )}
      </p>
      <ol class="list">
        {work_trees.map((tree, index) => <Work key={tree.peer_id} tree={tree} place={index + 1} />)}
      </ol>
      <ul class="list">
        {pairs.filter(isShown).map((pair) => (
          <PairRow
            key={`${pair.first_peer_id} ${pair.second_peer_id}`}
            pair={pair}
            nameOf={nameOf}
          />
        ))}
      </ul>
    </>
  );
}

function Work({ tree, place }: { tree: WorkTree; place: number }) {
  const { peer_id, name, branch, result, reason, detail } = tree;
  return (
    <li class="row list-row">
      <span class="age">{place}</span>
      <PeerLink id={peer_id} name={name} />
      {branch !== null && <bdi class="chip clip">{visible(branch)}</bdi>}
      <span class="grow" />
      <State of={result === "unknown" ? NAMES.unknown : result} tone={TONES[result]} />
      <span class="row-title hint" dir="auto">
        {visible(result === "unknown" ? lastLine(detail) ?? reason : reason)}
      </span>
    </li>
  );
}

function isShown({ result, detail }: Pair): boolean {
  return result === "failed" || result === "conflict" || (result === "unknown" && detail !== null);
}

const NAMES = { failed: "failed", conflict: "conflict", unknown: "no result" } as const;
const PAIRS = {
  failed: "fail together",
  conflict: "cannot be merged without conflicts",
  unknown: "are not known to fit",
} as const;

function PairRow({ pair, nameOf }: { pair: Pair; nameOf: (id: string) => string }) {
  const { first_peer_id, second_peer_id, result, files, detail, correlation_id } = pair;
  if (result === "passed" || result === "apart") return null;
  const names = `${nameOf(first_peer_id)} and ${nameOf(second_peer_id)}`;
  const text = result === "unknown" ? lastLine(detail) ?? "" : files.join(", ");
  return (
    <li class="row list-row">
      <State of={NAMES[result]} tone={result === "failed" ? "bad" : "calm"} />
      <span>
        <bdi>{visible(names)}</bdi> {PAIRS[result]}
      </span>
      {correlation_id !== null && <a href={link("asks", correlation_id)}>their ask</a>}
      <span class="row-title hint" dir="auto">{visible(text)}</span>
    </li>
  );
}

/** After the output of a check comes the reason. */
function lastLine(detail: string | null): string | undefined {
  return detail?.trimEnd().split("\n").at(-1);
}
