/**
 * A bundle as one Markdown file for an agent, with the manifest first. Text of other authors is
 * quoted line by line, so that it cannot pass as a part of the bundle.
 */

import { formatInstant } from "kit/core/local_time.ts";
import * as z from "zod";
import { cleanLine } from "kit/core/text.ts";
import type { Ask } from "protocol/asks/contract.ts";
import { Manifest } from "protocol/handoffs.ts";
import type { TouchedFile } from "./touched_files.ts";
import type { Turn } from "./turns.ts";

export interface Bundle {
  readonly manifest: Manifest;
  readonly note: string | undefined;
  readonly asksTo: readonly Ask[];
  readonly asksFrom: readonly Ask[];
  readonly files: readonly TouchedFile[];
  readonly turns: readonly Turn[];
}

export function toMarkdown({ manifest, note, asksTo, asksFrom, files, turns }: Bundle): string {
  const { from, to } = manifest;
  const isSame = from.peer_id === to.peer_id;
  const title = isSame ? `@${from.name} as it was` : `the work of @${from.name} to @${to.name}`;
  const sections = [
    `# Hand-over of ${title}`,
    "The manifest says what this file holds, and what was left out:",
    `\`\`\`json\n${manifestJson(manifest)}\n\`\`\``,
    ...(note === undefined ? [] : ["## Note", quote(note)]),
    `## Open asks to @${from.name}`,
    answererNote(manifest),
    ...toList(asksTo.map((ask) => `### ${ask.correlation_id} from @${ask.from_peer_name}`), asksTo),
    `## Open asks of @${from.name}`,
    `Their answers go to @${from.name}.`,
    ...toList(asksFrom.map((ask) => `### ${ask.correlation_id} to @${ask.to_peer_name}`), asksFrom),
    "## Files",
    "Only the names; their content is in the folder.",
    files.map(({ path, by }) => `- ${inCode(path)} (${by})`).join("\n") || "None.",
    "## Last turns",
    ...turns.flatMap(toSections),
    ...(turns.length === 0 ? ["None."] : []),
  ];
  return `${sections.join("\n\n")}\n`;
}

/** The asker chose the peer, and only that peer can answer. */
function answererNote({ from, to }: Manifest): string {
  if (from.peer_id === to.peer_id) return "They are yours to answer: you are the same peer.";
  return `They stay with @${from.name}: their askers chose it. Answer none of them in its place; ` +
    "write to those who asked, if the work is yours now.";
}

/** Escapes text that would close the fence. */
function manifestJson(manifest: Manifest): string {
  return JSON.stringify(z.encode(Manifest, manifest), undefined, 2).replaceAll("`", "\\u0060");
}

function toList(titles: readonly string[], asks: readonly Ask[]): string[] {
  if (asks.length === 0) return ["None."];
  return titles.flatMap((title, at) => [title, quote(asks[at]?.text ?? "")]);
}

function toSections(turn: Turn, index: number): string[] {
  return [
    `### Turn ${index + 1}`,
    ...turn.flatMap(({ kind, tool, at, text, chars }) => {
      const label = [kind.replace("_", " "), tool && inCode(tool)].filter(Boolean).join(" ");
      const time = at === null ? "" : `, ${formatInstant(at)}`;
      const cut = text.length < chars ? ` (${text.length} of ${chars} characters)` : "";
      return [`**${label}**${time}${cut}`, quote(text)];
    }),
  ];
}

function quote(text: string): string {
  return text.split(/\r?\n/).map((line) => `> ${line}`.trimEnd()).join("\n");
}

function inCode(text: string): string {
  return `\`${cleanLine(text).replaceAll("`", "'")}\``;
}
