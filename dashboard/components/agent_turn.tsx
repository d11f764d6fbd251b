/** The entries of an agent's own session in its conversation: reported turns, and records. */

import type { AgentTurn, TranscriptEntry } from "../state/records.ts";
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

const RECORDS: Readonly<Record<TranscriptEntry["kind"], string>> = {
  prompt: "prompt in its session",
  text: "said in its session",
  tool_call: "called",
  tool_result: "result",
};

/** An entry of the agent's transcript; calls and results are folded. */
export function RecordEntry({ record }: { record: TranscriptEntry }) {
  const { kind, text, chars, tool, at } = record;
  const isTalk = kind === "prompt" || kind === "text";
  const title = [RECORDS[kind], tool].filter(Boolean).join(" ");
  return (
    <li class={`turn ${kind === "prompt" ? "to-peer" : ""}`} data-row tabIndex={-1}>
      {isTalk
        ? (
          <>
            <header>
              <span class="kind">{visible(title)}</span>
              {at !== null && <Clock at={at} />}
            </header>
            <Markdown text={text} />
          </>
        )
        : (
          <details>
            <summary>{visible(title)}</summary>
            <pre>{visible(text)}</pre>
          </details>
        )}
      {chars > text.length && (
        <p class="hint">Shortened here; the agent's session file has it in full.</p>
      )}
    </li>
  );
}
