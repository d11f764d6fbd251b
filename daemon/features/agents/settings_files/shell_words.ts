/** Splits the command lines of hooks into commands and words, as `sh` does. */

/** A command as words: a program and its arguments. */
export type Argv = readonly string[];

interface ShellCommand {
  /** Assignments before the program, such as `MESH_AGENT_PID=$PPID`. */
  readonly variables: readonly string[];
  readonly words: Argv;
}

/** Maximum length of a command line that is split. */
const LENGTH_MAX = 16_384;
const BLANK = /[^\S\n]*/y;
/** Matches the end of a command, or a comment. */
const OPERATOR = /[;&|()\n]+|#[^\n]*/y;
const WORD = /(?:'[^']*'|"(?:[^"\\]|\\[^])*"|\\[^]|[^\s'"\\;&|()])+/y;

/** The simple commands of a line. Nothing is expanded. An unclosed quote ends the line. */
export function commandsIn(line: string): readonly ShellCommand[] {
  const commands: ShellCommand[] = [];
  let variables: string[] = [], words: string[] = [];
  const end = () => {
    if (words.length > 0) commands.push({ variables, words });
    [variables, words] = [[], []];
  };
  const text = line.slice(0, LENGTH_MAX);
  let at = 0;
  const next = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  while (at < text.length) {
    next(BLANK);
    if (next(OPERATOR) !== undefined) {
      end();
      continue;
    }
    const word = next(WORD);
    if (word === undefined) break;
    if (words.length === 0 && /^[A-Za-z_]\w*=/.test(word)) variables.push(unquote(word));
    else words.push(unquote(word));
  }
  end();
  return commands;
}

function unquote(word: string): string {
  return word.replace(
    /'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])/g,
    (_, single: string, double: string | undefined, escaped: string) =>
      single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped,
  );
}

/** Quotes one word for `sh`. */
export function shellQuote(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
