/** A prompt or final message of an agent's own session, in its conversation. */

import type { AgentTurn } from "../state/records.ts";
import { Clock } from "./basics.tsx";
import { Markdown } from "./markdown.tsx";
import { visible } from "./text/visible.tsx";

const LABELS = { user: "prompt in its terminal", assistant: "end of its turn" } as const;

export function AgentTurnEntry({ turn }: { turn: AgentTurn }) {
  const { role, text, truncated, tool_calls, at } = turn;
  return (
    <li class={`turn ${role === "user" ? "to-peer" : ""}`} data-row tabIndex={-1}>
      <header>
        <span class="kind">{LABELS[role]}</span>
        <Clock at={at} />
      </header>
      <Markdown text={text} />
      {truncated && <p class="hint">Shortened here; the agent's terminal has it in full.</p>}
      {tool_calls.length > 0 && (
        <details>
          <summary>
            {tool_calls.length === 1 ? "1 tool call" : `${tool_calls.length} tool calls`}
          </summary>
          <pre>{visible(toText(tool_calls))}</pre>
        </details>
      )}
    </li>
  );
}

function toText(tool_calls: AgentTurn["tool_calls"]): string {
  return tool_calls.map((tool_call) => JSON.stringify(tool_call, null, 2)).join("\n");
}
