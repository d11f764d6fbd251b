/** `mesh policy`: the rules on what chains of each origin may cause. */

import type { WireResponse } from "kit/http/client.ts";
import { ORIGINS } from "protocol/origins/record.ts";
import { explainPolicy } from "protocol/generated/endpoints.ts";
import { answerCommand, type Command } from "../../command/command.ts";
import { styled, type Terminal } from "../../output/terminal.ts";

type Rules = WireResponse<typeof explainPolicy>["rules"];

export const POLICY_COMMANDS: readonly Command[] = [
  answerCommand({
    usage: "policy",
    summary: "List the rules on what may come of apps, guests and other machines",
    details:
      "The setting `policy` has the rules: [{origin: guest, deny: [spawn, jobs, ask: human]}]. A " +
      "rule counts for all that its origin causes: follow-ups, replies, jobs, started agents.",
    example: "mesh policy",
    call: ({ call }) => call(explainPolicy, { query: {} }),
    show: ({ rules }, { terminal }) => showRules(terminal, rules),
  }),
  answerCommand({
    usage: "policy test <act...>",
    summary: "Tell what the rules would do with an act",
    flags: { "--origin <origin>": `what began the chain: ${ORIGINS.join(", ")}` },
    example: 'mesh policy test --origin guest "ask: human"',
    call: ({ call }, args) => {
      const origin = args.choice("origin", ORIGINS) ?? "unknown";
      return call(explainPolicy, { query: { origin, act: args.text("act") } });
    },
    show: ({ verdict }, { terminal }) => {
      const text = verdict?.rule ? styled("red", `denied by ${verdict.rule}`) : "allowed";
      terminal.print(text);
    },
  }),
];

function showRules(to: Terminal, rules: Rules): void {
  to.printTable(rules, {
    RULE: ({ rule }) => styled("cyan", rule),
    ORIGIN: ({ origin }) => origin,
    DENIES: ({ deny }) => deny.join(", "),
  }, { essential: ["RULE"], empty: "No rules. The setting `policy` has them." });
}
