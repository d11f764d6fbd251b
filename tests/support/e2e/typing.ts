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
  /** True if the composer shows the prompt. It may show only the end of a long one. */
  holds(prompt: string): boolean;
  keys(...keys: string[]): void;
}

/** Types a prompt into an empty composer, and submits it. */
export async function submitPrompt(terminal: AgentTerminal, prompt: string): Promise<void> {
  await typePrompt(terminal, prompt);
  const enter = () => terminal.keys("Enter");
  await retryUntil(terminal, `"${prompt}" to be taken`, enter, () => !terminal.holds(prompt));
}

/** Types a prompt. It clears the line first, so that a slow screen does not get it twice. */
export async function typePrompt(terminal: AgentTerminal, prompt: string): Promise<void> {
  const type = () => {
    terminal.keys("C-u");
    terminal.keys("-l", "--", prompt);
  };
  await retryUntil(terminal, `"${prompt}" in the composer`, type, () => terminal.holds(prompt));
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

/** True if a text holds a prompt's end. Lines break anywhere, and a break swallows a space. */
export function holdsPrompt(text: string, prompt: string): boolean {
  const withoutSpace = (text: string) => text.replaceAll(/\s+/g, "");
  return withoutSpace(text).includes(withoutSpace(prompt).slice(-END_CHARS));
}
