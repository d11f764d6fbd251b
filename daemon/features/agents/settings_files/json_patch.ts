/** Changes JSON in its text: rewrites only differing parts. Comments and layout stay. */

import { isDeepStrictEqual } from "node:util";
import { diffArrays } from "diff";
import { getNodeValue, type Node } from "jsonc-parser";
import { isObject, type Json, type JsonObject, plain, Unchangeable } from "./json.ts";
import { type Comment, commentsIn, memberNode, rootOf, tokensFrom } from "./jsonc.ts";

/** Parses a whole file. A blank file counts as an empty object. */
export function parseJson(text: string): JsonObject {
  return text.trim() === "" ? {} : getNodeValue(rootOf(text));
}

/**
 * The text with the value `next`. An object or list that becomes empty gets the text that it has in
 * `original`, the file before our first change.
 */
export function patchJson(text: string, next: JsonObject, original?: string): string {
  // Two passes, so that a removed item and an added one never share a comma.
  const removed = rewrite(text, next, { pass: "remove", original });
  const patched = rewrite(removed, next, { pass: "add", original });
  if (!isDeepStrictEqual(plain(parseJson(patched)), plain(next))) {
    throw new Unchangeable("its layout cannot be kept: change it by hand");
  }
  return patched;
}

interface RewriteOptions {
  readonly pass: "remove" | "add";
  readonly original: string | undefined;
}

function rewrite(text: string, next: JsonObject, { pass, original }: RewriteOptions): string {
  const patch = new Patch(text, pass, original ?? "");
  const origin = original === undefined || original.trim() === "" ? undefined : rootOf(original);
  patch.change(rootOf(text), next, origin);
  return patch.result();
}

/** A member or element that the text has. */
interface Item {
  /** The whole member, or the element. */
  readonly node: Node;
  readonly value: Node;
  /** Its new value; undefined if it is to be removed. */
  readonly next: Json | undefined;
  /** The same value in the original file. */
  readonly original: Node | undefined;
}

/** Members or elements that the text lacks; `after` is the index of the item before them. */
interface Addition {
  readonly after: number;
  readonly added: { readonly label: string; readonly value: Json }[];
}

interface Contents {
  readonly items: readonly Item[];
  readonly additions: readonly Addition[];
}

function membersOf(node: Node, next: JsonObject, original: Node | undefined): Contents {
  const items = (node.children ?? []).flatMap((property): Item[] => {
    const [key, value] = property.children ?? [];
    if (!key || !value) return [];
    const name: string = getNodeValue(key);
    // If an object has a key twice, programs read the last value. The others stay.
    const isRead = memberNode(node, name) === value;
    const changed = !isRead
      ? getNodeValue(value)
      : Object.hasOwn(next, name)
      ? next[name]
      : undefined;
    return [{ node: property, value, next: changed, original: memberNode(original, name) }];
  });
  const present: JsonObject = getNodeValue(node);
  const added = Object.entries(next).filter(([name]) => !Object.hasOwn(present, name))
    .map(([name, value]) => ({ label: `${JSON.stringify(name)}: `, value }));
  return { items, additions: added.length > 0 ? [{ after: items.length - 1, added }] : [] };
}

/** Matches equal elements. A replaced element is changed in place. */
function elementsOf(node: Node, next: readonly Json[]): Contents {
  const elements = node.children ?? [];
  const texts = (list: readonly Json[]) => list.map((element) => JSON.stringify(element));
  const items: Item[] = [], additions: Addition[] = [];
  let removed: Node[] = [], at = 0, nextAt = 0;
  const flush = () => {
    for (const node of removed) items.push({ node, value: node, next: undefined, original: node });
    removed = [];
  };
  for (
    const part of diffArrays(texts(elements.map((element) => getNodeValue(element))), texts(next))
  ) {
    const nodes = part.added ? [] : elements.slice(at, at += part.value.length);
    const values = part.removed ? [] : next.slice(nextAt, nextAt += part.value.length);
    if (part.removed) {
      removed.push(...nodes);
      continue;
    }
    const replaced = part.added ? removed.splice(0, values.length) : nodes;
    if (!part.added) flush();
    replaced.forEach((node, index) =>
      items.push({ node, value: node, next: values[index], original: undefined })
    );
    flush();
    const added = values.slice(replaced.length).map((value) => ({ label: "", value }));
    if (added.length > 0) additions.push({ after: items.length - 1, added });
  }
  flush();
  return { items, additions };
}

/** The format of a container's items. */
interface Layout {
  /** The text before an item. */
  readonly separator: string;
  /** Set if the container has its items on lines of their own. */
  readonly lines: { readonly newline: string; readonly indent: string } | undefined;
}

/** The replacements that one pass makes in a text. */
class Patch {
  readonly #text: string;
  readonly #pass: RewriteOptions["pass"];
  readonly #original: string;
  readonly #comments: readonly Comment[];
  readonly #newline: string;
  readonly #unit: string;
  readonly #edits: { readonly from: number; readonly to: number; readonly text: string }[] = [];

  constructor(text: string, pass: RewriteOptions["pass"], original: string) {
    this.#text = text;
    this.#pass = pass;
    this.#original = original;
    this.#comments = commentsIn(text);
    this.#newline = text.includes("\r\n") ? "\r\n" : "\n";
    this.#unit = /\n([ \t]+)["{[]/.exec(text)?.[1] ?? "  ";
  }

  result(): string {
    const edits = this.#edits.toSorted((a, b) => b.from - a.from);
    return edits.reduce(
      (text, { from, to, text: more }) => text.slice(0, from) + more + text.slice(to),
      this.#text,
    );
  }

  change(node: Node, next: Json, original: Node | undefined): void {
    if (JSON.stringify(getNodeValue(node)) === JSON.stringify(next)) return;
    const contents = node.type === "object" && isObject(next)
      ? membersOf(node, next, original)
      : node.type === "array" && Array.isArray(next)
      ? elementsOf(node, next)
      : undefined;
    if (!contents) return this.#edit(node.offset, endOf(node), JSON.stringify(next));
    const { items, additions } = contents;
    if (this.#pass === "remove") {
      const isEmptied = items.every((item) => item.next === undefined);
      if (isEmptied && additions.length === 0 && !this.#hasComments(node)) {
        return this.#edit(node.offset, endOf(node), this.#emptyText(next, original));
      }
      this.#remove(items);
    } else additions.forEach((addition) => this.#add(node, items, addition));
    for (const item of items) {
      if (item.next !== undefined) this.change(item.value, item.next, item.original);
    }
  }

  #edit(from: number, to: number, text: string): void {
    this.#edits.push({ from, to, text });
  }

  #hasComments(node: Node): boolean {
    const inside = ({ from }: Comment) => from > node.offset && from < endOf(node);
    const children = node.children ?? [];
    // Comments inside of a removed item are removed with it.
    const isKept = ({ from }: Comment) =>
      !children.some((child) => from >= child.offset && from < endOf(child));
    return this.#comments.some((comment) => inside(comment) && isKept(comment));
  }

  #emptyText(next: Json, original: Node | undefined): string {
    const isEqual = original && JSON.stringify(getNodeValue(original)) === JSON.stringify(next);
    return isEqual ? this.#original.slice(original.offset, endOf(original)) : JSON.stringify(next);
  }

  /** Removes items, each with the blanks before it and its comma. */
  #remove(items: readonly Item[]): void {
    const last = items.at(-1);
    for (const [at, { node, next }] of items.entries()) {
      if (next !== undefined) continue;
      const from = this.#text.slice(0, node.offset).trimEnd().length;
      // The line break after a line comment ends the comment.
      const endsComment = this.#comments.some(({ to, isLine }) => isLine && to === from);
      const isKept = endsComment && this.#hasMoreInLine(items.slice(at));
      this.#edit(isKept ? node.offset : from, endOf(node), "");
      this.#removeComma(node);
    }
    const kept = items.findLast(({ next }) => next !== undefined);
    const endsWithComma = last && this.#commaAfter(last.node) !== undefined;
    if (kept && kept !== last && !endsWithComma) this.#removeComma(kept.node);
  }

  /** True if text follows on the line after the first item and the removed items behind it. */
  #hasMoreInLine(items: readonly Item[]): boolean {
    const keptAt = items.findIndex(({ next }) => next !== undefined);
    let end = 0;
    for (const { node } of keptAt < 0 ? items : items.slice(0, keptAt)) {
      const isNext = end === 0 || this.#text.slice(end, node.offset).trim() === "";
      if (!isNext) break;
      end = (this.#commaAfter(node) ?? endOf(node) - 1) + 1;
    }
    const [rest = ""] = this.#text.slice(end).split("\n", 1);
    return rest.trim() !== "";
  }

  #removeComma(node: Node): void {
    const comma = this.#commaAfter(node);
    if (comma !== undefined) this.#edit(comma, comma + 1, "");
  }

  /** The offset of the comma that follows a node; undefined if none does. */
  #commaAfter(node: Node): number | undefined {
    const next = tokensFrom(this.#text, endOf(node)).next().value;
    return next?.first === "," ? next.to - 1 : undefined;
  }

  #add(container: Node, items: readonly Item[], { after, added }: Addition): void {
    const near = (items[after] ?? items[0])?.node;
    const layout = near ? this.#layoutAt(container, near) : this.#layoutOfEmpty(container);
    const written = added.map(({ label, value }) =>
      layout.separator + this.#write(label, value, layout)
    );
    const before = items[after]?.node;
    if (!near) return this.#fill(container, written.join(","), layout);
    if (!before) return this.#edit(container.offset + 1, container.offset + 1, joinItems(written));
    const comma = this.#commaAfter(before);
    const place = this.#afterComments(comma === undefined ? endOf(before) : comma + 1);
    if (comma !== undefined) return this.#edit(place, place, joinItems(written));
    if (place > endOf(before)) this.#edit(endOf(before), endOf(before), ",");
    this.#edit(place, place, (place > endOf(before) ? "" : ",") + written.join(","));
  }

  #layoutAt(container: Node, near: Node): Layout {
    const body = this.#text.slice(container.offset, endOf(container));
    if (!body.includes("\n")) {
      return { separator: /[,[{]\s/.test(body) ? " " : "", lines: undefined };
    }
    return this.#lines(this.#indentAt(near.offset));
  }

  #layoutOfEmpty(container: Node): Layout {
    const isNested = container.parent !== undefined;
    if (isNested && !this.#text.includes("\n")) return { separator: "", lines: undefined };
    return this.#lines(this.#indentAt(container.offset) + this.#unit);
  }

  #lines(indent: string): Layout {
    const newline = this.#newline;
    return { separator: newline + indent, lines: { newline, indent } };
  }

  /** The blanks at the beginning of a line. */
  #indentAt(offset: number): string {
    const start = this.#text.lastIndexOf("\n", offset - 1) + 1;
    return /^[ \t]*/.exec(this.#text.slice(start, offset))?.[0] ?? "";
  }

  /** Writes the first items of an empty container; comments in it stay. */
  #fill(container: Node, written: string, { lines }: Layout): void {
    const open = container.offset + 1, close = endOf(container) - 1;
    const comment = this.#comments.findLast(({ from, to }) => from >= open && to <= close);
    if (comment) return this.#edit(comment.to, comment.to, written);
    const end = lines ? lines.newline + this.#indentAt(container.offset) : "";
    this.#edit(open, close, written + end);
  }

  #write(label: string, value: Json, { lines }: Layout): string {
    if (!lines) return label + JSON.stringify(value);
    const text = JSON.stringify(value, null, this.#unit);
    return label + text.replaceAll("\n", lines.newline + lines.indent);
  }

  /** The end of the comments that follow in the same line. */
  #afterComments(offset: number): number {
    const blank = /^[ \t]*/.exec(this.#text.slice(offset, offset + 200))?.[0].length ?? 0;
    const comment = this.#comments.find(({ from }) => from === offset + blank);
    return comment ? this.#afterComments(comment.to) : offset;
  }
}

function endOf({ offset, length }: Node): number {
  return offset + length;
}

/** Items before others, or before a trailing comma's place. */
function joinItems(written: readonly string[]): string {
  return written.map((item) => `${item},`).join("");
}
