/** The commit from which changes count: where the branch left the branch that it came from. */

import { readWhole } from "../../../host/agent_files.ts";
import { join } from "kit/core/path.ts";
import type { BranchPoint } from "protocol/changes.ts";
import type { Git } from "./git.ts";

const LIST_BYTES_MAX = 65_536;
const LINK_BYTES_MAX = 8_192;

/** HEAD, and the commit to compare with. */
export interface Comparison {
  /** Null while the repository has no commit. */
  readonly head: string | null;
  readonly branch: string | null;
  readonly base: BranchPoint;
  /** The tree or commit for git: the base, or the empty tree. */
  readonly tree: string;
  /** Commits since the base; null if they could not be counted. */
  readonly commits: number | null;
}

/** The empty tree, by the length of the repository's ids. */
const EMPTY_TREE = {
  40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
  64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
} as const;

export async function comparisonOf(git: Git): Promise<Comparison> {
  const branch = /^ref: refs\/heads\/(.+)$/.exec(git.head)?.[1] ?? null;
  const candidates = candidatesOf(git, branch);
  const found = await commitsOf(git, ["HEAD", ...candidates.map(({ ref }) => ref)]);
  const [head = null, ...commits] = found;
  if (head === null) {
    const isSha256 = git.settings["extensions.objectformat"] === "sha256";
    const base = { commit: null, how: "empty" as const, ref: null };
    return { head, branch, base, tree: EMPTY_TREE[isSha256 ? 64 : 40], commits: 0 };
  }
  const known = candidates.flatMap((candidate, at) => {
    const commit = commits[at];
    return commit ? [{ ...candidate, commit }] : [];
  });
  const base = await nearest(git, head, known);
  const count = base.commit === head
    ? "0"
    : (await git.run(["rev-list", "--count", `${base.commit}..HEAD`], LIST)).text;
  return { head, branch, base, tree: base.commit ?? head, commits: Number.parseInt(count) };
}

const LIST = { bytes_max: LIST_BYTES_MAX };

interface Candidate {
  readonly ref: string;
  readonly how: "upstream" | "default_branch";
}

/**
 * The branches that HEAD may come from, best first. The upstream of a branch is often the same
 * branch on the server: it counts if it has another name, or if HEAD is the default branch.
 */
function candidatesOf({ repository, settings }: Git, branch: string | null): Candidate[] {
  const remote = branch === null ? undefined : settings[`branch.${branch}.remote`];
  const merged = branch === null ? undefined : settings[`branch.${branch}.merge`];
  const upstream = /^refs\/heads\/(.+)$/.exec(merged ?? "")?.[1];
  const server = remote === undefined || remote === "." ? "origin" : remote;
  const file = join(repository.common_dir, "refs/remotes", server, "HEAD");
  const target = readWhole(file, LINK_BYTES_MAX)?.trim() ?? "";
  const prefix = `ref: refs/remotes/${server}/`;
  const named = target.startsWith(prefix) ? [target.slice(prefix.length)] : [];
  const own = settings["init.defaultbranch"];
  const names = [...new Set([...named, "main", "master", ...own === undefined ? [] : [own]])];
  const isDefault = branch !== null && (named[0] ?? branch) === branch && names.includes(branch);
  const refs: Candidate[] = [];
  if (upstream !== undefined && (upstream !== branch || isDefault)) {
    const place = remote === "." ? "refs/heads" : `refs/remotes/${server}`;
    refs.push({ ref: `${place}/${upstream}`, how: "upstream" });
  }
  // The default branch itself comes from no other branch here.
  for (const name of isDefault ? [branch] : names) {
    refs.push({ ref: `refs/remotes/${server}/${name}`, how: "default_branch" });
    if (name !== branch) refs.push({ ref: `refs/heads/${name}`, how: "default_branch" });
  }
  return refs.filter(({ ref }) => isRef(ref));
}

/** Excludes the syntax of revisions, and what would be two lines of git's input. */
function isRef(ref: string): boolean {
  // deno-lint-ignore no-control-regex -- A reference has no control characters.
  return !/[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\.|\.lock$|\/$/.test(ref);
}

/** The commit of each revision; undefined for one that does not exist. */
async function commitsOf(git: Git, revisions: readonly string[]): Promise<(string | undefined)[]> {
  const input = revisions.map((revision) => `${revision}^{commit}\n`).join("");
  const { text } = await git.run(["cat-file", "--batch-check=%(objectname)"], { ...LIST, input });
  return text.split("\n").slice(0, revisions.length).map((line) =>
    /^[0-9a-f]{40}$|^[0-9a-f]{64}$/.test(line) ? line : undefined
  );
}

/**
 * The upstream if there is one; otherwise the default branch. That branch may exist here and on the
 * server, and one of the two is behind, so the nearest point counts.
 */
async function nearest(
  git: Git,
  head: string,
  [first, second]: readonly (Candidate & { commit: string })[],
): Promise<BranchPoint> {
  if (!first) return { commit: head, how: "head", ref: null };
  const others = second && isSameBranch(first, second) ? [first, second] : [first];
  const refs = await Promise.all(others.map(async ({ ref, how, commit }) => {
    const { text } = await git.run(["merge-base", head, commit], { ...LIST, allowed: [0, 1] });
    return { ref: shortName(ref), how, commit: text.trim() };
  }));
  const [one, other] = refs.filter(({ commit }) => commit !== "");
  if (!one) return { commit: head, how: "unrelated", ref: shortName(first.ref) };
  if (!other || other.commit === one.commit) return one;
  const { text } = await git.run(
    ["merge-base", one.commit, other.commit],
    { ...LIST, allowed: [0, 1] },
  );
  return text.trim() === one.commit ? other : one;
}

function isSameBranch(first: Candidate, second: Candidate): boolean {
  const nameOf = ({ ref }: Candidate) => ref.replace(/^refs\/(?:remotes\/[^/]+|heads)\//, "");
  return first.how === "default_branch" && nameOf(first) === nameOf(second);
}

function shortName(ref: string): string {
  return ref.replace(/^refs\/(?:remotes|heads)\//, "");
}
