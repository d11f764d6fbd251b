/** A hand at an agent's terminal: it types, looks, and types again what was not taken. */

import { tell, until } from "./waiting.ts";

/** How long a screen may take to show what was typed, before it is typed again. */
const AGAIN_MS = 4_000;
const INSIST_MS_MAX = 60_000;
/** How much of a prompt's end is looked for: a composer may show no more of it. */
const END_CHARS = 40;

/** One terminal, as far as a hand has to know it. */
export interface Typewriter {
  readonly screen: string;
  /** What stands in the composer; empty where none is shown. */
  readonly composer: string;
  keys(...keys: string[]): void;
}

/** Types a prompt into an empty composer, and submits it. */
export async function submit(terminal: Typewriter, prompt: string): Promise<void> {
  await compose(terminal, prompt);
  const enter = () => terminal.keys("Enter");
  await insist(terminal, `"${prompt}" to be taken`, enter, () => !holds(terminal, prompt));
}

/** Types a prompt. The line is cleared before, so that a slow screen has it once all the same. */
export async function compose(terminal: Typewriter, prompt: string): Promise<void> {
  const type = () => {
    terminal.keys("C-u");
    terminal.keys("-l", "--", prompt);
  };
  await insist(terminal, `"${prompt}" in the composer`, type, () => holds(terminal, prompt));
}

/** Does something, and again each time that a while has passed without its effect. */
export async function insist(
  terminal: Pick<Typewriter, "screen">,
  what: string,
  deed: () => void,
  isDone: () => boolean,
): Promise<void> {
  deed();
  let again_at = Date.now() + AGAIN_MS;
  const look = () => {
    if (isDone()) return true;
    if (Date.now() < again_at) return false;
    tell(`Once more, as the screen took no notice: ${what}`);
    deed();
    again_at = Date.now() + AGAIN_MS;
    return false;
  };
  await until(what, look, INSIST_MS_MAX).catch((fault) => {
    throw new Error(`${fault.message}; the screen:\n${terminal.screen}`);
  });
}

/** Whether its composer holds a prompt, wherever lines are broken: a break takes a space along. */
function holds({ composer }: Typewriter, prompt: string): boolean {
  const dense = (text: string) => text.replaceAll(/\s+/g, "");
  return dense(composer).includes(dense(prompt).slice(-END_CHARS));
}
