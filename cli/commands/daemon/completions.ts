/** Shell completions, generated from the command table. */

import { type Command } from "../../command/command.ts";
import { UsageError } from "../../client/failures.ts";

const SHELLS = { bash, zsh, fish } as const;

/** The completion script of a shell. */
export function completionsFor(shell: string, commands: readonly Command[]): string {
  const generate = new Map<string, typeof bash>(Object.entries(SHELLS)).get(shell);
  if (!generate) {
    throw new UsageError(
      `There are no completions for "${shell}"; choose one of ${Object.keys(SHELLS).join(", ")}`,
    );
  }
  return generate(commands.filter(({ hidden }) => !hidden));
}

/** The possible next words for each sequence of words: `inbox` → `list`, `show`, … */
function nextWords(commands: readonly Command[]): Map<string, Set<string>> {
  const nextByPath = new Map<string, Set<string>>();
  for (const { usage, flags = {} } of commands) {
    const path = pathOf(usage);
    path.forEach((word, index) => add(nextByPath, path.slice(0, index).join(" "), word));
    for (const flag of Object.keys(flags)) {
      add(nextByPath, path.join(" "), flag.split(" ")[0] ?? flag);
    }
  }
  return nextByPath;
}

function bash(commands: readonly Command[]): string {
  const cases = [...nextWords(commands)].map(([path, next]) =>
    `    "${path}") COMPREPLY=($(compgen -W "${[...next].join(" ")}" -- "$word")) ;;`
  );
  return [
    "# bash: source <(mesh completions bash)",
    "_mesh() {",
    '  local word="\${COMP_WORDS[COMP_CWORD]}" path="" one',
    '  for one in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    '    case "$one" in -*) ;; *) path="\${path:+$path }$one" ;; esac',
    "  done",
    '  case "$path" in',
    ...cases,
    "  esac",
    "}",
    "complete -o default -F _mesh mesh",
    "",
  ].join("\n");
}

/** zsh runs the bash script through `bashcompinit`. */
function zsh(commands: readonly Command[]): string {
  const [, ...script] = bash(commands).split("\n");
  const header = [
    "# zsh: source <(mesh completions zsh)",
    "autoload -U +X bashcompinit && bashcompinit",
  ];
  return [...header, ...script].join("\n");
}

function fish(commands: readonly Command[]): string {
  const lines = commands.map(({ usage, summary }) => {
    const [first, second] = pathOf(usage);
    const condition = second ? `__fish_seen_subcommand_from ${first}` : "__fish_use_subcommand";
    return `complete -c mesh -f -n '${condition}' -a '${second ?? first}' -d ${quoted(summary)}`;
  });
  return ["# fish: mesh completions fish | source", ...lines, ""].join("\n");
}

function pathOf(usage: string): string[] {
  return usage.replace(/ [<[][^]*/, "").split(" ");
}

function add(to: Map<string, Set<string>>, path: string, word: string): void {
  to.getOrInsertComputed(path, () => new Set()).add(word);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "\\'")}'`;
}
