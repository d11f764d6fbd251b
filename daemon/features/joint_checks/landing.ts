/** The suggested order in which the work trees of a repository land. */

import type { CheckResult, PairResult } from "protocol/joint_checks/contract.ts";

export interface LandingWork {
  readonly peer_id: string;
  readonly name: string;
  readonly files: number;
  readonly result: CheckResult;
  /** Peers whose changed files this work imports. */
  readonly needs: readonly string[];
}

export interface LandingPair {
  readonly peer_ids: readonly [string, string];
  readonly result: PairResult;
}

export interface Landing<Work> {
  readonly work: Work;
  readonly reason: string;
}

// deno-fmt-ignore
const RANK: Readonly<Record<CheckResult, number>> = { passed: 0, unknown: 1, failed: 2 };

/**
 * Work that passes its check comes first, then what fails with the fewest others, then the smaller
 * one. Work that imports changed files of another comes after it.
 */
export function landingOrder<Work extends LandingWork>(
  works: readonly Work[],
  pairs: readonly LandingPair[],
): Landing<Work>[] {
  const opponents = (work: Work) =>
    pairs.filter(({ peer_ids, result }) =>
      peer_ids.includes(work.peer_id) && (result === "failed" || result === "conflict")
    ).flatMap(({ peer_ids }) => peer_ids.filter((id) => id !== work.peer_id));
  const left = works.toSorted((a, b) =>
    RANK[a.result] - RANK[b.result] || opponents(a).length - opponents(b).length ||
    a.files - b.files || a.name.localeCompare(b.name)
  );
  const order: Landing<Work>[] = [];
  while (left.length > 0) {
    const waits = (work: Work) =>
      left.filter((other) => other !== work && work.needs.includes(other.peer_id));
    // Two works that import each other wait for each other: the first one goes on.
    const at = Math.max(0, left.findIndex((work) => waits(work).length === 0));
    const [work] = left.splice(at, 1);
    if (work) order.push({ work, reason: reasonOf(work, { order, opponents: opponents(work) }) });
  }
  return order;

  function reasonOf(work: Work, place: {
    readonly order: readonly Landing<Work>[];
    readonly opponents: readonly string[];
  }): string {
    const nameOf = (id: string) => works.find(({ peer_id }) => peer_id === id)?.name ?? id;
    const needed = place.order.filter((before) => work.needs.includes(before.work.peer_id));
    const size = `${work.files} ${work.files === 1 ? "file" : "files"}`;
    const own = {
      passed: `its check passes, ${size}`,
      unknown: `its check has no result, ${size}`,
      failed: `its own check fails, ${size}`,
    }[work.result];
    return [
      own,
      ...needed.length > 0
        ? [`imports changes of ${needed.map(({ work: { name } }) => name).join(", ")}`]
        : [],
      ...place.opponents.length > 0
        ? [`does not fit with ${place.opponents.map(nameOf).join(", ")}`]
        : [],
    ].join("; ");
  }
}
