/** The completion script of fish. */

import { type CompletionModel, optionsWithValue, pathsOf, type Values } from "./model.ts";

/**
 * `__mesh_words` prints the command before the cursor and how many arguments follow it, such as
 * `inbox reply|0`.
 */
export function fishScript(model: CompletionModel): string {
  const head = [
    "# fish: mesh completions fish | source",
    "function __mesh_words",
    "  set -l path ''",
    "  set -l count 0",
    "  set -l skip 0",
    "  for one in (commandline -opc)[2..]",
    "    if test $skip = 1; set skip 0; continue; end",
    '    set -l longer (string trim -- "$path $one")',
    "    switch $one",
    `      case ${optionsWithValue(model).join(" ")}`,
    "        set skip 1",
    "      case '-*'",
    "      case '*'",
    `        if contains -- $longer ${pathsOf(model).map(quote).join(" ")}`,
    "          set path $longer",
    "        else",
    "          set count (math $count + 1)",
    "        end",
    "    end",
    "  end",
    '  echo "$path|$count"',
    "end",
    "function __mesh_at; test (__mesh_words) = $argv[1]; end",
    'function __mesh_in; string match -q -- "$argv[1]|*" (__mesh_words); end',
    "complete -c mesh -f",
  ];
  return [...head, ...wordLines(model), ...argumentLines(model), ...optionLines(model), ""]
    .join("\n");
}

function wordLines({ next }: CompletionModel): string[] {
  return next.map(({ after, word, summary }) =>
    `complete -c mesh -n ${at(after, 0)} -a ${word} -d ${quote(summary)}`
  );
}

function argumentLines({ commands }: CompletionModel): string[] {
  return commands.flatMap(({ path, args }) =>
    args.flatMap((values, index) => {
      const words = wordsOf(values);
      return words === "" ? [] : [`complete -c mesh -n ${at(path, index)} ${words}`];
    })
  );
}

function optionLines({ commands }: CompletionModel): string[] {
  return commands.flatMap(({ path, options }) =>
    options.map(({ name, short, summary, values }) => {
      const condition = `-n ${quote(`__mesh_in "${path}"`)}`;
      const value = values ? ` -r ${wordsOf(values)}`.trimEnd() : "";
      const forms = `${short === undefined ? "" : `-s ${short.slice(1)} `}-l ${name.slice(2)}`;
      return `complete -c mesh ${condition} ${forms}${value} -d ${quote(summary)}`;
    })
  );
}

function at(path: string, count: number): string {
  return quote(`__mesh_at "${path}|${count}"`);
}

/** The values as options of `complete`; empty where there is nothing to complete. */
function wordsOf(values: Values): string {
  if (values.from === "list") return `-f -a ${quote(values.words.join(" "))}`;
  if (values.from === "daemon") return `-f -a ${quote(`(mesh complete ${values.kind})`)}`;
  return values.from === "files" ? "-F" : "";
}

function quote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
