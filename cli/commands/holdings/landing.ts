/** `mesh landing`: in which order the work of several agents lands, and what fails together. */

import type { WireResponse } from "kit/http/client.ts";
import { listJointChecks } from "protocol/generated/endpoints.ts";
import { answerCommand, type CommandContext } from "../../command/command.ts";
import { formatAge } from "../../output/time.ts";

type Answer = WireResponse<typeof listJointChecks>;
type Repository = Answer["repositories"][number];

const OFF = "Joint checks are off. Give them a check: mesh config set joint_checks.check NAME, " +
  "where NAME is a check of jobs.checks.";

export const LANDING = answerCommand({
  usage: "landing",
  summary: "Show the suggested order of landing, and which work fails together",
  details:
    "The daemon joins the work trees of one repository pairwise in a temporary folder, with " +
    "what is not committed, and runs the check that joint_checks.check names. An agent sees the " +
    "repository of its own folder. Nothing is merged.",
  example: "mesh landing",
  call: async (context, args): Promise<Answer> => {
    const { from_peer } = await context.lookup(args);
    return await context.call(listJointChecks, { query: { from_peer } });
  },
  show: ({ check, repositories }, context) => {
    if (check === null) return context.terminal.print(OFF);
    if (repositories.length === 0) {
      return context.terminal.print(
        `No repository has the work trees of two agents. The check is "${check}".`,
      );
    }
    for (const repository of repositories) showRepository(repository, check, context);
  },
});

function showRepository(
  { repository, checked_at, work_trees, pairs }: Repository,
  check: string,
  { clock, terminal }: CommandContext,
): void {
  const age = checked_at === null ? "" : `, ${formatAge(checked_at, clock)}`;
  terminal.print(`${repository.replace(/\/\.git$/, "")} ("${check}"${age})`);
  terminal.printTable(work_trees.map((tree, at) => ({ ...tree, at })), {
    order: ({ at }) => String(at + 1),
    peer: ({ name }) => name,
    branch: ({ branch }) => branch ?? "",
    check: ({ result }) => result,
    reason: ({ reason, result, detail }) =>
      result === "unknown" && detail !== null ? detail : reason,
  }, { essential: ["order", "peer", "check"] });
  const nameOf = (id: string) => work_trees.find(({ peer_id }) => peer_id === id)?.name ?? id;
  for (const { first_peer_id, second_peer_id, result, files, detail, correlation_id } of pairs) {
    const names = `${nameOf(first_peer_id)} and ${nameOf(second_peer_id)}`;
    if (result === "unknown" && detail !== null) {
      // After the output comes the reason.
      terminal.print(`${names} are not known to fit: ${detail.trimEnd().split("\n").at(-1)}`);
    }
    if (result !== "failed" && result !== "conflict") continue;
    const does = result === "failed" ? "fail together" : "cannot be merged without conflicts";
    const where = files.length > 0 ? `: ${files.join(", ")}` : "";
    const asked = correlation_id === null ? "" : ` (${correlation_id})`;
    terminal.print(`${names} ${does}${where}${asked}`);
  }
}
