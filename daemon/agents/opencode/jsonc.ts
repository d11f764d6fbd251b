/** JSON with comments, changed in place: one member put in or taken out, all else to the byte. */

import { type Json, type JsonObject, Unchangeable } from "../install.ts";

/** A member of an object, by its places in the text. */
export interface Member {
  readonly key: string;
  /** Where its name begins. */
  readonly from: number;
  readonly value_from: number;
  readonly value_to: number;
  /** Behind the comma that follows it, or behind its value where none does. */
  readonly to: number;
}

/** Blanks and comments. */
const GAP = /(?:\s|\uFEFF|\/\/[^\n]*|\/\*[^]*?\*\/)*/y;
const STRING = /"(?:[^"\\\n]|\\.)*"/y;
const WORD = /[^\s,:{}[\]"/]+/y;

/** Deeper than any configuration. A value is read once for each level around it. */
const LEVELS_MAX = 64;
/** Strings and comments, closed or not, and what goes in and out of a level. */
const LEVEL = /"(?:[^"\\\n]|\\.)*"?|\/\/[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?|[{}[\]]/g;

/** Where the object of a whole file begins; throws `Unchangeable` when there is none. */
export function rootOf(text: string): number {
  const at = skip(text, GAP, 0);
  if (text[at] !== "{") throw new Unchangeable("It holds no JSON object");
  let level = 0;
  for (const [token] of text.matchAll(LEVEL)) {
    level += token === "{" || token === "[" ? 1 : token === "}" || token === "]" ? -1 : 0;
    if (level > LEVELS_MAX) throw new Unchangeable(`It has more than ${LEVELS_MAX} levels`);
  }
  if (skip(text, GAP, endOf(text, at)) < text.length) {
    throw new Unchangeable("Something follows the object that it holds");
  }
  return at;
}

/** The members of the object that begins at `open`, in their order. */
export function membersOf(text: string, open: number): readonly Member[] {
  const members: Member[] = [];
  let at = skip(text, GAP, open + 1);
  while (text[at] !== "}") {
    const name_to = must(text, STRING, at);
    const colon = skip(text, GAP, name_to);
    if (text[colon] !== ":") throw broken(text, colon);
    const value_from = skip(text, GAP, colon + 1);
    const value_to = endOf(text, value_from);
    const next = skip(text, GAP, value_to);
    const to = text[next] === "," ? next + 1 : value_to;
    members.push({ key: JSON.parse(text.slice(at, name_to)), from: at, value_from, value_to, to });
    at = skip(text, GAP, to);
    if (text[next] !== "," && text[at] !== "}") throw broken(text, at);
  }
  return members;
}

/** Puts a member in front of all others. `remove` of it gives back the same bytes. */
export function prepend(text: string, open: number, member: string): string {
  const others = membersOf(text, open).length > 0;
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  return `${text.slice(0, open + 1)}${newline}${member}${others ? "," : ""}${text.slice(open + 1)}`;
}

/** Takes a member out, with its comma. */
export function remove(text: string, open: number, key: string): string {
  const members = membersOf(text, open);
  const at = members.findIndex((member) => member.key === key);
  const found = members[at];
  if (!found) return text;
  const blanks = /(?<![ \t])[ \t]*$/.exec(text.slice(0, found.from))?.[0].length ?? 0;
  const line = text.slice(0, found.from - blanks);
  const from = line.length - (/\r?\n$/.exec(line)?.[0].length ?? 0);
  return text.slice(0, Math.max(from, open + 1)) + text.slice(found.to);
}

/** What a value means, its comments left out. */
export function valueOf(text: string, { value_from, value_to }: Member): Json {
  return read(text, value_from, value_to);
}

function read(text: string, from: number, to: number): Json {
  if (text[from] === "{") {
    const members = membersOf(text, from).map((member) => [member.key, valueOf(text, member)]);
    const object: JsonObject = Object.fromEntries(members);
    return object;
  }
  if (text[from] !== "[") return parse(text, from, to);
  return itemsOf(text, from).map(([start, end]) => read(text, start, end));
}

function itemsOf(text: string, open: number): readonly (readonly [number, number])[] {
  const items: [number, number][] = [];
  let at = skip(text, GAP, open + 1);
  while (text[at] !== "]") {
    const to = endOf(text, at);
    items.push([at, to]);
    const next = skip(text, GAP, to);
    if (text[next] !== "," && text[next] !== "]") throw broken(text, next);
    at = text[next] === "," ? skip(text, GAP, next + 1) : next;
  }
  return items;
}

function parse(text: string, from: number, to: number): Json {
  try {
    return JSON.parse(text.slice(from, to));
  } catch {
    throw broken(text, from);
  }
}

/** Behind the value that begins at `from`. */
function endOf(text: string, from: number): number {
  if (text[from] === "{") {
    return skip(text, GAP, membersOf(text, from).at(-1)?.to ?? from + 1) + 1;
  }
  if (text[from] === "[") return skip(text, GAP, itemsEnd(text, from)) + 1;
  return text[from] === '"' ? must(text, STRING, from) : must(text, WORD, from);
}

function itemsEnd(text: string, open: number): number {
  const last = itemsOf(text, open).at(-1)?.[1] ?? open + 1;
  const next = skip(text, GAP, last);
  return text[next] === "," ? next + 1 : last;
}

function skip(text: string, pattern: RegExp, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

function must(text: string, pattern: RegExp, at: number): number {
  const to = skip(text, pattern, at);
  if (to === at) throw broken(text, at);
  return to;
}

function broken(text: string, at: number): Unchangeable {
  const line = text.slice(0, at).split("\n").length;
  return new Unchangeable(`It is not JSON with comments, in line ${line}`);
}
