/** Texts that a person keeps for later messages, in this browser. */

import { signal } from "@preact/signals";
import { parseTemplates, type Template } from "./kept.ts";

const KEY = "mesh-templates";

export const templates = signal<readonly Template[]>(parseTemplates(read()));

/** Keeps a text under a name, and replaces a template of the same name. */
export function keepTemplate(name: string, text: string): void {
  const others = templates.value.filter((template) => template.name !== name);
  write([...others, { name, text }].toSorted((a, b) => a.name.localeCompare(b.name)));
}

export function forgetTemplate(name: string): void {
  write(templates.value.filter((template) => template.name !== name));
}

function read(): string {
  return localStorage.getItem(KEY) ?? "[]";
}

function write(next: readonly Template[]): void {
  templates.value = next;
  localStorage.setItem(KEY, JSON.stringify(next));
}
