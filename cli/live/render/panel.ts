/** The panel above the footer: a text that is typed, a choice, or a question before a kill. */

import { isPermission } from "protocol/derived/waiting.ts";
import { styled } from "../../output/terminal.ts";
import { titleBesideId } from "../../output/views.ts";
import { type Line, withRule, wrap } from "../../screen/lines.ts";
import { markdownLines } from "../../output/markdown.ts";
import { fieldRows } from "../../screen/text_field.ts";
import type { Item } from "../records.ts";
import type { Overlay, Target, View } from "../view.ts";
import { firstVisible } from "./layout.ts";

interface Panel {
  readonly lines: readonly Line[];
  /** Where the cursor is in it. */
  readonly cursor: { readonly row: number; readonly column: number } | undefined;
}

type Kind<K extends Overlay["kind"]> = Extract<Overlay, { kind: K }>;

const NO_PANEL: Panel = { lines: [], cursor: undefined };
const FIELD_ROWS_MAX = 8;
const LOSSES_SHOWN_MAX = 12;

export function panelOf({ overlay }: View, columns: number, height: number): Panel {
  switch (overlay?.kind) {
    case "write":
      return fieldPanel(overlay, columns, height);
    case "choose":
      return { lines: choiceLines(overlay, columns, height), cursor: undefined };
    case "kill":
      return { lines: killLines(overlay, columns, height), cursor: undefined };
    case "interrupt":
      return { lines: interruptLines(overlay, columns), cursor: undefined };
    default:
      return NO_PANEL;
  }
}

function fieldPanel({ target, field }: Kind<"write">, columns: number, height: number): Panel {
  const about = target.kind === "answer" ? questionLines(target.item, columns, height) : [];
  const { rows, row, column } = fieldRows(field, columns - 2);
  const shown = Math.max(1, Math.min(FIELD_ROWS_MAX, height - about.length - 2));
  const start = firstVisible(rows.length, row, shown);
  const head = [...about, rule(titleOf(target), columns)];
  const typed = rows.slice(start, start + shown).map((line): Line => ["> ", ...line]);
  return {
    lines: [...head, ...typed],
    cursor: { row: head.length + row - start, column: column + 2 },
  };
}

function titleOf(target: Target): string {
  switch (target.kind) {
    case "search":
      return "Search all messages";
    case "answer":
      return `${target.closes ? "Answer" : "Ask back"} ${target.item.from}`;
    default:
      return `${target.kind === "ask" ? "Ask" : "Notify"} ${target.peer.name}`;
  }
}

/** The beginning of the message that is answered, in at most a third of the screen. */
function questionLines({ from, text, question }: Item, columns: number, height: number): Line[] {
  const max = Math.max(1, Math.floor(height / 3));
  const prompt = question?.prompt;
  const whole = prompt && prompt !== text ? `${text}\n${prompt}` : text;
  const start = whole.slice(0, max * columns);
  const written = isPermission(question)
    ? start.split(/\r\n|[\r\n]/).map((line): Line => [line])
    : markdownLines(start);
  const lines = written.flatMap((line) => wrap(line, columns));
  const shown = lines.length > max
    ? [...lines.slice(0, max - 1), [styled("dim", "… Enter on its row shows all of it")]]
    : lines;
  return [rule(`${from} wrote`, columns), ...shown];
}

function choiceLines({ item, index }: Kind<"choose">, columns: number, height: number): Line[] {
  const about = questionLines(item, columns, height);
  const options = item.question?.options ?? [];
  const shown = Math.max(1, height - about.length - 1);
  const start = firstVisible(options.length, index, shown);
  const rows = options.slice(start, start + shown).map((option, at): Line => {
    const number = start + at + 1;
    const isSelected = start + at === index;
    const key = number <= 9 ? `${number} ` : "  ";
    return [
      isSelected ? styled("cyan", "▸ ") : "  ",
      styled("bold", key),
      isSelected ? styled("inverse", option.id) : option.id,
      titleBesideId(option),
    ];
  });
  return [...about, rule("Choose an answer", columns), ...rows];
}

function killLines({ peer, losses }: Kind<"kill">, columns: number, height: number): Line[] {
  const loading: Line = [styled("dim", "Looking up what would be lost…")];
  const lines = (losses ?? [loading]).flatMap((line) => wrap(line, columns));
  const max = Math.max(2, Math.min(LOSSES_SHOWN_MAX, height - 2));
  const shown = lines.length > max
    ? [...lines.slice(0, max - 1), [styled("dim", `… and ${lines.length - max + 1} more lines`)]]
    : lines;
  return [rule(`Kill ${peer.name}?`, columns, "red"), ...shown];
}

function interruptLines({ peer }: Kind<"interrupt">, columns: number): Line[] {
  const effect = "Its turn is interrupted as its user would do it. It goes on running.";
  return [rule(`Stop ${peer.name}?`, columns), ...wrap([effect], columns)];
}

function rule(title: string, columns: number, style: "cyan" | "red" = "cyan"): Line {
  return withRule([styled(style, "━━ "), styled("bold", title)], columns, { style, sign: "━" });
}
