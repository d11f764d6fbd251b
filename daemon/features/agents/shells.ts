/** Shells at their prompt, which would run any text typed into their pane. */

const SHELL = /(^|[/-])(ba|da|a|z|k|mk|c|tc|fi|nu|pw)?sh$/;
/** Options whose next word is their value, and not a script. */
const TAKES_VALUE = /^(--rcfile|--init-file|[-+][oO])$/;

/**
 * True if a command line starts a shell that reads commands from its terminal. A shell with a
 * script or a command does not.
 */
export function isShellPrompt(command_line: readonly string[]): boolean {
  const [program = "", ...rest] = command_line;
  if (!SHELL.test(program)) return false;
  if (rest.some((argument) => /^-[a-z]*c/.test(argument))) return false;
  const operands = rest.filter((argument, at) =>
    !/^[-+]/.test(argument) && !TAKES_VALUE.test(rest[at - 1] ?? "")
  );
  return operands.length === 0 || rest.includes("-s");
}
