/** The help of every command as one text, for the golden file. */

import { helpOf, helpPlaceOf } from "../../cli/command/help.ts";
import { wordsOf } from "../../cli/command/line.ts";
import { COMMANDS } from "./commands.ts";

export function renderHelp(): string {
  const paths = COMMANDS.filter(({ hidden }) => !hidden).map(({ usage }) => wordsOf(usage));
  const first_words = [...new Set(paths.map(([first = ""]) => first))];
  const listed = first_words.map((word) => ({ word, rank: helpPlaceOf(word).rank }))
    .sort((a, b) => a.rank === b.rank ? 0 : a.rank - b.rank);
  const pages = listed.flatMap(({ word }) => [
    [word],
    ...paths.filter((path) => path[0] === word && path.length > 1),
  ]);
  const texts = pages.map((words) => `\n${"─".repeat(40)}\n${helpOf(COMMANDS, words)}`);
  return helpOf(COMMANDS, []) + texts.join("");
}
