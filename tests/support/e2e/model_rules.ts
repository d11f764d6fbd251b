/** Rules by which the scripted models of these tests answer a prompt. */

import type { ScriptedReply, Step } from "../../../daemon/features/agents/selftest/fixture.ts";

const ANSWER: readonly Step[] = [
  { tool: "ack", args: { correlation_id: "$1", message: "Port 8080" } },
  { say: "Answered" },
];

/** Asks the peer and the text that the user names. */
export const ASKS: ScriptedReply = {
  match: /^Ask (\S+): (.+)$/m,
  steps: [{ tool: "ask", args: { peer: "$1", message: "$2" } }, { say: "Asked: ${result}" }],
};

/** Answers any ask. */
export const ANSWERS: ScriptedReply = {
  match: /<peer-message type="ask" id="(ask-[0-9a-f]+)"/,
  steps: ANSWER,
};

/** Also answers an ask that arrived in a notice, without a turn of its own. */
export const ANSWERS_LATER: ScriptedReply = {
  match: /^\[mesh\] Not read yet, further up: (ask-[0-9a-f]+)$/,
  steps: ANSWER,
};

/** Answers by a command, which needs permission. */
export const TOUCHES: ScriptedReply = {
  match: /^Touch it/,
  steps: [
    { tool: "bash", args: { command: "touch ./touched", description: "Touches" } },
    { say: "Touched" },
  ],
};
