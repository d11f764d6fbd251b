/** Permission requests of the agent, which the human allows or denies as a blocking question. */

import type { Call } from "kit/http/client.ts";
import { cleanLine, messageOf } from "kit/core/text.ts";
import { askBlocking } from "protocol/generated/endpoints.ts";
import type { PermissionOutcome, PermissionRequest, ToolCall, ToolRequest } from "./protocol.ts";
import { titleOf } from "./turn.ts";

/** Maximum number of open questions. Further requests are rejected. */
export const PENDING_MAX = 20;
/** The daemon shortens it to `approvals.timeout_seconds`. */
const TIMEOUT_SECONDS = 3_600;
const INPUT_CHARS_MAX = 16_000;
const SHOWN_CHARS_MAX = 1_000;
const ALWAYS_MAX = 5;
const NAME_CHARS_MAX = 100;

interface PermissionsDeps {
  readonly call: Call;
  readonly peer: { readonly peer_id: string; readonly name: string; readonly session_id: string };
  /** Called when a question is opened, with true, and when the last one is closed, with false. */
  waiting(isWaiting: boolean): void;
  report(text: string): void;
}

/** A choice of the human, and the agent's option that it means. */
interface Choice {
  readonly id: string;
  readonly title: string;
  readonly optionId: string;
}

export class Permissions {
  readonly #deps: PermissionsDeps;
  #pending = 0;

  constructor(deps: PermissionsDeps) {
    this.#deps = deps;
  }

  /** Asks the human. Without an answer in time, or without a daemon, the tool is rejected. */
  async permit(request: ToolRequest, signal: AbortSignal): Promise<PermissionOutcome> {
    const choices = choicesOf(request.options);
    const rejection = toOutcome(choices.find(({ id }) => id === "deny"));
    if (this.#pending >= PENDING_MAX || choices.every(({ id }) => id === "deny")) return rejection;
    this.#pending++;
    this.#deps.waiting(true);
    try {
      const body = this.#question(request.call, choices);
      const { outcome, option_id } = await this.#deps.call(askBlocking, { body, signal });
      const chosen = choices.find(({ id }) => id === option_id);
      return outcome === "answered" && chosen ? toOutcome(chosen) : rejection;
    } catch (error) {
      if (!signal.aborted) {
        const title = titleOf(request.call);
        this.#deps.report(`"${title}" is rejected: the human cannot be asked: ${messageOf(error)}`);
      }
      return rejection;
    } finally {
      if (--this.#pending === 0) this.#deps.waiting(false);
    }
  }

  #question(call: ToolCall, choices: readonly Choice[]) {
    const { peer_id, name, session_id } = this.#deps.peer;
    const json = JSON.stringify(call.rawInput ?? call.content ?? {}, null, 2);
    const title = titleOf(call);
    const shown = cleanLine(JSON.stringify(call.rawInput ?? call.content ?? {}));
    return {
      prompt: `@${name} wants to use ${title}: ${cut(shown, SHOWN_CHARS_MAX)}`,
      options: choices.map(({ id, title }) => ({ id, title })),
      scope: "tool_permission",
      timeout_seconds: TIMEOUT_SECONDS,
      from_peer: peer_id,
      metadata: {
        tool: title,
        ...(call.kind && { tool_kind: call.kind }),
        // The protocol has no place for the reason of a rejection.
        takes_reason: false,
        session_id,
        tool_input: cut(json, INPUT_CHARS_MAX),
        tool_input_is_cut: json.length > INPUT_CHARS_MAX,
      },
    };
  }
}

/**
 * `Allow` means once. A permission for longer is offered in the agent's own words, because only the
 * agent knows how far it goes. There is no denial for longer than once.
 */
function choicesOf(options: PermissionRequest["options"]): Choice[] {
  const first = (kind: string) => options.find((option) => option.kind === kind);
  const allow = first("allow_once"), deny = first("reject_once");
  const always = options.filter(({ kind }) => kind === "allow_always").slice(0, ALWAYS_MAX);
  return [
    ...(allow ? [{ id: "allow", title: "Allow", optionId: allow.optionId }] : []),
    { id: "deny", title: "Deny", optionId: deny?.optionId ?? "" },
    ...always.map(({ name, optionId }, at) => ({
      id: `always-${at + 1}`,
      title: `Always: ${cleanLine(name).slice(0, NAME_CHARS_MAX)}`,
      optionId,
    })),
  ];
}

/** The outcome of a choice. An agent that offers no `reject_once` gets `cancelled`. */
function toOutcome(choice: Choice | undefined): PermissionOutcome {
  const optionId = choice?.optionId;
  return { outcome: optionId ? { outcome: "selected", optionId } : { outcome: "cancelled" } };
}

/** Cuts the middle of a long text, because either end may matter, and says how much is missing. */
function cut(text: string, chars_max: number): string {
  if (text.length <= chars_max) return text;
  const [head, tail] = [Math.ceil(chars_max * 2 / 3), Math.floor(chars_max / 3)];
  const missing = text.length - head - tail;
  return `${text.slice(0, head)} …(${missing} more)… ${text.slice(-tail)}`.toWellFormed();
}
