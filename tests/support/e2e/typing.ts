/** Types into an agent's terminal, checks the screen, and types again what was not taken. */

import { print, until } from "../waiting.ts";

/** Maximum time for a screen to show the input; then it is typed again. */
const RETRY_MS = 4_000;
const RETRY_MS_MAX = 60_000;
/** Characters at a prompt's end that are searched for: a composer may show no more of it. */
const END_CHARS = 40;

/** The parts of a terminal that typing uses. */
export interface AgentTerminal {
  readonly screen: string;
  /** The text in the composer; empty where none is shown. */
  readonly composer: string;
  keys(...keys: string[]): void;
}

/** Types a prompt into an empty composer, and submits it. */
export async function submitPrompt(terminal: AgentTerminal, prompt: string): Promise<void> {
  await typePrompt(terminal, prompt);
  const enter = () => terminal.keys("Enter");
  await retryUntil(terminal, `"${prompt}" to be taken`, enter, () => !holds(terminal, prompt));
}

/** Types a prompt. It clears the line first, so that a slow screen does not get it twice. */
export async function typePrompt(terminal: AgentTerminal, prompt: string): Promise<void> {
  const type = () => {
    terminal.keys("C-u");
    terminal.keys("-l", "--", prompt);
  };
  await retryUntil(terminal, `"${prompt}" in the composer`, type, () => holds(terminal, prompt));
}

/** Runs `act`, and again each time that its effect does not show for a while. */
export async function retryUntil(
  terminal: Pick<AgentTerminal, "screen">,
  what: string,
  action: () => void,
  isDone: () => boolean,
): Promise<void> {
  action();
  let retry_at = Date.now() + RETRY_MS;
  const probe = () => {
    if (isDone()) return true;
    if (Date.now() < retry_at) return false;
    print(`Trying again, because the screen did not change: ${what}`);
    action();
    retry_at = Date.now() + RETRY_MS;
    return false;
  };
  await until(what, probe, RETRY_MS_MAX).catch((error) => {
    throw new Error(`${error.message}; the screen:\n${terminal.screen}`);
  });
}

/** True if the composer holds a prompt, wherever lines break; a break swallows a space. */
function holds({ composer }: AgentTerminal, prompt: string): boolean {
  const withoutSpace = (text: string) => text.replaceAll(/\s+/g, "");
  return withoutSpace(composer).includes(withoutSpace(prompt).slice(-END_CHARS));
}
