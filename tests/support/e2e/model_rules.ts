/** What the scripted models of these tests do with a prompt. */

import type { Rule, Step } from "../../../daemon/features/agents/selftest/fixture.ts";

const ANSWER: readonly Step[] = [
  { tool: "ack", args: { correlation_id: "$1", message: "Port 8080" } },
  { say: "Answered" },
];

/** As its user says whom, and what. */
export const ASKS: Rule = {
  match: /^Ask (\S+): (.+)$/m,
  steps: [{ tool: "ask", args: { peer: "$1", message: "$2" } }, { say: "Asked: ${result}" }],
};

/** Whatever ask it is sent. */
export const ANSWERS: Rule = {
  match: /<peer-message type="ask" id="(ask-[0-9a-f]+)"/,
  steps: ANSWER,
};

/** Also one that it is only told of, as it had no turn of its own. */
export const ANSWERS_LATER: Rule = {
  match: /^\[mesh\] Not read yet, further up: (ask-[0-9a-f]+)$/,
  steps: ANSWER,
};

/** By a command, which needs leave. */
export const TOUCHES: Rule = {
  match: /^Touch it/,
  steps: [
    { tool: "bash", args: { command: "touch ./touched", description: "Touches" } },
    { say: "Touched" },
  ],
};
