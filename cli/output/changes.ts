/** Prints what changed in a folder: where it counts from, the files, and their changed lines. */

import type { WireResponse } from "kit/http/client.ts";
import { changesTitle, countsText } from "protocol/derived/changes.ts";
import type { readChanges } from "protocol/generated/endpoints.ts";
import { type Style, styled, type StyledText, type Terminal } from "./terminal.ts";

export type ShownChanges = Omit<WireResponse<typeof readChanges>, "peer_id" | "name">;
type ChangedFile = ShownChanges["files"][number];

export function showChanges(
  to: Terminal,
  title: string,
  changes: ShownChanges,
  hasLines: boolean,
): void {
  const { state, detail, folder, branch, operation, files, left_out } = changes;
  if (state !== "ok") return to.print(styled("yellow", title), `: ${detail ?? state}`);
  to.print(styled("cyan", title), `: ${changesTitle(changes)}`);
  to.printFields({
    folder,
    branch: branch ?? "none (detached)",
    unfinished: operation && styled("yellow", operation),
  });
  if (files.length > 0) to.print();
  for (const file of files) to.print(...fileLine(file));
  for (const file of hasLines ? files : []) showLines(to, file);
  if (left_out.length > 0) to.print();
  for (const { what, why } of left_out) to.print(styled("yellow", `left out: ${what}: ${why}`));
}

function fileLine({ path, old_path, status, uncommitted, added, removed, binary }: ChangedFile) {
  const name = old_path === null ? path : `${old_path} → ${path}`;
  const counts = binary ? "binary" : countsText({ added, removed });
  const where = status === "untracked" || uncommitted === null
    ? ""
    : uncommitted === "both"
    ? "  (staged and unstaged)"
    : `  (${uncommitted})`;
  return [
    styled("dim", status.replace("_", " ").padEnd(13)),
    `${name}  `,
    ...coloured(counts),
    where,
  ];
}

function coloured(counts: string): StyledText[] {
  return counts.split(/(?=−)/).map((part) =>
    part.startsWith("+") ? styled("green", part) : part.startsWith("−") ? styled("red", part) : part
  );
}

const STYLES: Readonly<Record<string, Style>> = { "+": "green", "-": "red", "\\": "dim" };

function showLines(to: Terminal, { path, hunks, cut }: ChangedFile): void {
  if (hunks === null || (hunks.length === 0 && !cut)) return;
  to.print();
  to.print(styled("bold", path));
  for (const { old_start, new_start, lines } of hunks) {
    to.print(styled("cyan", `@@ -${old_start} +${new_start} @@`));
    for (const line of lines) {
      const style = STYLES[line.charAt(0)];
      to.print(style ? styled(style, line) : line);
    }
  }
  if (cut) to.print(styled("yellow", "… some lines are left out; --file shows more of one file"));
}
