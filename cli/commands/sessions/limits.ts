/** `mesh limits`: the limits of agents' accounts, until when, and what waits for them. */

import { timeOfDay, windowWords } from "protocol/derived/limits.ts";
import { listLimits, resumeLimit } from "protocol/generated/endpoints.ts";
import { isLimited } from "protocol/limits/states.ts";
import type { Limit } from "protocol/wire.ts";
import type { Clock } from "kit/core/clock.ts";
import { answerCommand, type Command, type CommandContext } from "../../command/command.ts";
import { styled, type Terminal } from "../../output/terminal.ts";

export const LIMIT_COMMANDS: readonly Command[] = [
  answerCommand({
    usage: "limits",
    summary: "Show which accounts of agents are at a limit, until when, and what waits",
    details:
      "Peers of one agent and one settings folder share an account. Messages for an account at " +
      "its limit wait, and go on after the reset: one first, the others once it was answered. " +
      "The settings limits.resume and limits.quiet_hours change that.",
    flags: { "--refresh": "ask Codex first, which asks its provider; at most once a minute" },
    example: "mesh limits",
    call: ({ call }, args) =>
      call(listLimits, { query: { refresh: args.flag("refresh") ? "true" : undefined } }),
    show: ({ limits }, context) => showLimits(limits, context),
  }),
  answerCommand({
    usage: "limits resume <account>",
    summary: "Try an account again now; it may be named by a peer of it",
    details: "For a person: after credit was bought, before a reset, or within the quiet hours.",
    example: "mesh limits resume api",
    call: ({ call }, args) => call(resumeLimit, { params: { id: args.text("account") }, body: {} }),
    show: ({ detail }, { terminal }) => terminal.print(detail),
  }),
];

/** Maximum names of peers in a row of the table; sleeping agents may be many. */
const PEERS_SHOWN_MAX = 8;

function showLimits(limits: readonly Limit[], { clock, terminal }: CommandContext): void {
  terminal.printTable(limits, {
    ACCOUNT: ({ account_id }) => account_id,
    AGENT: ({ backend }) => backend ?? "—",
    STATE: ({ state }) => styled(colourOf(state), state.replaceAll("_", " ")),
    USED: ({ windows }) => windows.map(usedText).join(", ") || "—",
    RESETS: (limit) => untilText(limit, clock),
    WAITING: ({ queued }) => String(queued),
    PEERS: ({ peers }) => namesOf(peers),
  }, { whole: ["ACCOUNT"], empty: "No agents with an account." });
  for (const limit of limits) {
    if (limit.state !== "clear") explain(limit, terminal);
    if (limit.windows.length > 0) terminal.print(windowsText(limit, clock));
  }
}

function namesOf(peers: Limit["peers"]): string {
  const shown = peers.slice(0, PEERS_SHOWN_MAX).map(({ name }) => name).join(", ");
  const more = peers.length - PEERS_SHOWN_MAX;
  return more > 0 ? `${shown} and ${more} more` : shown || "—";
}

function explain({ account, backend, detail, evidence }: Limit, terminal: Terminal): void {
  const told = evidence?.text ? `: “${evidence.text}”` : "";
  const source = evidence ? ` By its ${evidence.source}${told}` : "";
  terminal.print(`${backend ?? "peer"} ${account}: ${detail}${source}`);
}

function colourOf(state: Limit["state"]): "green" | "yellow" | "red" {
  if (state === "out_of_credits" || state === "exhausted") return "red";
  return isLimited(state) || state === "probing" ? "yellow" : "green";
}

function usedText({ window, used_percent }: Limit["windows"][number]): string {
  return `${Math.round(used_percent)} % of its ${windowWords(window)}`;
}

/** The windows with their resets, and the time at which the agent has recorded them. */
function windowsText({ account, backend, windows }: Limit, clock: Pick<Clock, "now">): string {
  const time = (at: string) => timeOfDay(Date.parse(at), clock.now());
  const parts = windows.map((window) => {
    const end = window.resets_at === null ? "" : ` until ${time(window.resets_at)}`;
    return `${usedText(window)}${end}`;
  });
  const at = windows[0]?.at ?? null;
  const since = at === null ? "" : `, by its record of ${time(at)}`;
  return `${backend ?? "peer"} ${account}: used ${parts.join(", ")}${since}`;
}

function untilText({ resumes_at, resets_at, state }: Limit, clock: Pick<Clock, "now">): string {
  const end = isLimited(state) ? resets_at ?? resumes_at : null;
  return end === null ? "—" : timeOfDay(Date.parse(end), clock.now());
}
