/** The act that a person is asked to permit, as lines of a terminal. */

import { showHidden } from "kit/core/hidden.ts";
import { type DiffLine, type FileDiff, numberLines } from "protocol/derived/diff.ts";
import type { Ask } from "protocol/wire.ts";
import { styled, type StyledText } from "./terminal.ts";

type Line = readonly StyledText[];

/** The act of a question with its text; undefined for a question without an act. */
export function actLines(text: string, question: Ask["question"]): Line[] | undefined {
  const act = question?.act;
  if (!act) return undefined;
  const { title, command, folder, address, files, details, kind, is_cut, covers_text } = act;
  const input = question.metadata?.["tool_input"];
  return [
    [styled("bold", title)],
    ...(covers_text ? [] : textLines(text)),
    ...(command === null ? [] : textLines(command, "$ ")),
    ...(command === null || folder === null ? [] : [[styled("dim", `in ${shown(folder)}`)]]),
    ...(address === null ? [] : textLines(address)),
    ...files.flatMap(fileLines),
    ...details.flatMap(({ name, value }) => [
      [styled("dim", `${oneLine(name)}:`)],
      ...textLines(value, "  "),
    ]),
    ...(kind === "other" ? textLines(toText(input)) : []),
    ...(is_cut ? [[styled("yellow", "Not all of it is shown: the attached file has all.")]] : []),
  ];
}

/** Each line of a text exactly, with its hidden characters by their numbers. */
function textLines(text: string, first = ""): Line[] {
  const indent = " ".repeat(first.length);
  return shown(text).split("\n").map((
    line,
    at,
  ) => [styled("dim", at === 0 ? first : indent), line]);
}

function fileLines({ path, old_path, added, removed, hunks, note }: FileDiff): Line[] {
  const lines = hunks.map(numberLines);
  const widest = Math.max(0, ...lines.flat().map((line) => line.new ?? line.old ?? 0));
  const columns = String(widest).length;
  const from = old_path === undefined ? "" : `${oneLine(old_path)} → `;
  const head = [
    styled("cyan", from + oneLine(path)),
    ...(added > 0 ? [styled("green", `  +${added}`)] : []),
    ...(removed > 0 ? [styled("red", `  −${removed}`)] : []),
    ...(note === undefined ? [] : [styled("dim", `  ${note}`)]),
  ];
  const gap: Line = [styled("dim", "⋯")];
  return [
    head,
    ...lines.flatMap((hunk, at) => [
      ...(at === 0 ? [] : [gap]),
      ...hunk.map((line) => diffLine(line, columns)),
    ]),
  ];
}

function diffLine({ sign, text, old, new: fresh }: DiffLine, columns: number): Line {
  const numbers = [old, fresh].map((number) => String(number ?? "").padStart(columns)).join(" ");
  const line = `${sign === "-" ? "−" : sign} ${shown(text)}`;
  const style = sign === "+" ? "green" : sign === "-" ? "red" : undefined;
  return [styled("dim", `${numbers} `), style ? styled(style, line) : line];
}

/** Tabs become blanks, because a terminal's tab stops depend on the column. */
function shown(text: string): string {
  return showHidden(text).replaceAll("\t", "    ");
}

function oneLine(text: string): string {
  return shown(text).replaceAll("\n", "⟨U+000A⟩");
}

function toText(input: unknown): string {
  return typeof input === "string" ? input : JSON.stringify(input ?? null, null, 2);
}
