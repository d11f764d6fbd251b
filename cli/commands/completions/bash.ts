/** The completion scripts of bash and zsh. */

import { type CompletionModel, formsOf, optionsWithValue, pathsOf, type Values } from "./model.ts";

export function bashScript(model: CompletionModel): string {
  return ["# bash: source <(mesh completions bash)", ...scriptLines(model), ""].join("\n");
}

/** zsh runs the bash script through `bashcompinit`. */
export function zshScript(model: CompletionModel): string {
  return [
    "# zsh: source <(mesh completions zsh)",
    "autoload -U +X compinit && compinit -u",
    "autoload -U +X bashcompinit && bashcompinit",
    ...scriptLines(model),
    "",
  ].join("\n");
}

/**
 * The script reads the words before the cursor: words of a command extend `verb`, other words count
 * as arguments, and the word after an option with a value is skipped. The name `path` is not free:
 * zsh ties it to PATH.
 */
function scriptLines(model: CompletionModel): string[] {
  return [
    "_mesh() {",
    '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
    '  local verb="" count=0 skip="" one="" words=""',
    '  for one in "${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do',
    '    if [ -n "$skip" ]; then skip=""; continue; fi',
    '    case "$one" in',
    `      ${optionsWithValue(model).join("|")}) skip=1 ;;`,
    "      -*) ;;",
    '      *) case "${verb:+$verb }$one" in',
    `        ${pathsOf(model).map(quote).join("|")}) verb="\${verb:+$verb }$one" ;;`,
    "        *) count=$((count+1)) ;;",
    "      esac ;;",
    "    esac",
    "  done",
    '  if [ -n "$skip" ]; then',
    '    case "$verb $before" in',
    ...optionCases(model),
    "    esac",
    '  elif [ "${word#-}" != "$word" ]; then',
    '    case "$verb" in',
    ...flagCases(model),
    "    esac",
    "  else",
    '    case "$verb $count" in',
    ...argumentCases(model),
    "    esac",
    '    case "$verb $count" in',
    ...wordCases(model),
    "    esac",
    "  fi",
    '  COMPREPLY=($(compgen -W "$words" -- "$word"))',
    "}",
    "complete -o default -F _mesh mesh",
  ];
}

function optionCases({ commands }: CompletionModel): string[] {
  return commands.flatMap(({ path, options }) =>
    options.flatMap((option) =>
      formsOf(option).flatMap((form) =>
        caseLine(`${path} ${form}`, option.values && wordsOf(option.values))
      )
    )
  );
}

function flagCases({ commands }: CompletionModel): string[] {
  return commands.flatMap(({ path, options }) =>
    caseLine(path, `"${options.flatMap(formsOf).join(" ")}"`)
  );
}

function argumentCases({ commands }: CompletionModel): string[] {
  return commands.flatMap(({ path, args }) =>
    args.flatMap((values, at) => caseLine(`${path} ${at}`, wordsOf(values)))
  );
}

function wordCases({ next }: CompletionModel): string[] {
  return [...Map.groupBy(next, ({ after }) => after)].flatMap(([after, words]) =>
    caseLine(`${after} 0`, `"$words ${words.map(({ word }) => word).join(" ")}"`)
  );
}

function caseLine(pattern: string, words: string | undefined): string[] {
  return words === undefined ? [] : [`      ${quote(pattern)}) words=${words} ;;`];
}

/** The shell's expression of the values; undefined where the shell completes files. */
function wordsOf(values: Values): string | undefined {
  if (values.from === "list") return `"${values.words.join(" ")}"`;
  if (values.from !== "daemon") return undefined;
  return `"$("\${COMP_WORDS[0]}" complete ${values.kind} 2>/dev/null)"`;
}

function quote(text: string): string {
  return `"${text}"`;
}
