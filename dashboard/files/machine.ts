/** The name and the colour of a machine in the page and in its manifest. */

import { createHash } from "node:crypto";
import { escapeAttribute, toDisplayName } from "kit/core/text.ts";
import { channelsOf, COLOURS } from "./machine_icon.ts";
import { storedBytes, type StoredFile } from "./stored_file.ts";

/** The machine that a page shows. */
export interface PageMachine {
  /** Decides its colour, which is the same on its own page and behind a relay. */
  readonly daemon_id: string;
  /** Absent if the relay does not know it, or may not reveal it. */
  readonly name?: string | undefined;
}

/** Places of a template, such as `{{name}}`. */
const PLACE = /\{\{(\w+)\}\}/g;
/** Share of the machine's colour in the bar above the page, as in `dashboard/styles/phone.css`. */
const TINT = 0.22;
/** `--bg` of both schemes. */
const BACKGROUND = { dark: "#0e1216", light: "#f6f7f8" };

/** The page or the manifest with a machine's name, its colour and its icons. */
export async function withMachine(
  template: StoredFile,
  { daemon_id, name }: PageMachine,
): Promise<StoredFile> {
  const icon = createHash("sha256").update(daemon_id).digest().readUInt32BE() % COLOURS.length;
  const colour = COLOURS[icon] ?? COLOURS[0];
  const shown = toDisplayName(name ?? "");
  const values: Readonly<Record<string, string>> = {
    name: shown,
    title: shown || daemon_id || "Agent Mesh",
    icon: String(icon),
    colour,
    dark: mix(colour, "dark"),
    light: mix(colour, "light"),
  };
  const escape = template.type.startsWith("text/html")
    ? escapeAttribute
    : (value: string) => JSON.stringify(value).slice(1, -1);
  const text = new TextDecoder().decode(await template.read("identity"));
  return storedBytes(
    template.type,
    text.replaceAll(PLACE, (_, place: string) => escape(values[place] ?? "")),
  );
}

function mix(colour: string, scheme: "dark" | "light"): string {
  const over = channelsOf(BACKGROUND[scheme]);
  return `#${
    channelsOf(colour).map((value, at) =>
      Math.round(value * TINT + (over[at] ?? 0) * (1 - TINT)).toString(16).padStart(2, "0")
    ).join("")
  }`;
}
