/**
 * JSON with comments, edited in place: adds or removes one member, and keeps every other byte.
 * opencode reads its settings with the same parser.
 */

import {
  createScanner,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { type Json, Unchangeable } from "./json.ts";

/** A member of an object: offsets into the text. */
interface Member {
  readonly from: number;
  readonly value_from: number;
  readonly value_to: number;
  /** The offset after the comma that follows the member, or after its value if no comma follows. */
  readonly to: number;
  readonly value: Json;
}

/**
 * The deepest nesting that is parsed. Configurations have fewer levels. The parser is recursive, so
 * deeper text would overflow its stack.
 */
const LEVELS_MAX = 64;

/** Parses the text of a whole file; throws `Unchangeable` if it is not one JSON object. */
export function rootOf(text: string): Node {
  // Some editors write a byte order mark, which the parser rejects. A space keeps the offsets.
  const withoutBom = text.replace(/^\uFEFF/, " ");
  checkDepth(withoutBom);
  const errors: ParseError[] = [];
  const root = parseTree(withoutBom, errors, { allowTrailingComma: true });
  const error = errors[0];
  if (error) {
    const line = withoutBom.slice(0, error.offset).split("\n").length;
    const reason = printParseErrorCode(error.error);
    throw new Unchangeable(`it is not JSON (${reason} in line ${line}); correct that line`);
  }
  if (root?.type !== "object") throw new Unchangeable("expected a JSON object, { … }; correct it");
  return root;
}

/**
 * The value of a member. If an object has a key twice, the last value counts, as in `JSON.parse`
 * and in the agents.
 */
export function memberNode(node: Node | undefined, name: string): Node | undefined {
  const properties = node?.type === "object" ? node.children ?? [] : [];
  return properties.findLast(({ children: [key] = [] }) => key && getNodeValue(key) === name)
    ?.children?.[1];
}

/** The member at the path `keys`; undefined if it is missing. */
export function memberAt(text: string, root: Node, keys: readonly string[]): Member | undefined {
  const value = keys.reduce<Node | undefined>(memberNode, root);
  const property = value?.parent;
  if (!value || !property) return undefined;
  const value_to = value.offset + value.length;
  const next = tokensFrom(text, value_to).next().value;
  return {
    from: property.offset,
    value_from: value.offset,
    value_to,
    to: next?.first === "," ? next.to : value_to,
    value: getNodeValue(value),
  };
}

/** Inserts a member before all others. `remove` restores the same bytes. */
export function prepend(text: string, open: number, member: string): string {
  const isEmpty = tokensFrom(text, open + 1).next().value?.first === "}";
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  return text.slice(0, open + 1) + newline + member + (isEmpty ? "" : ",") + text.slice(open + 1);
}

/** Removes a member of the object that begins at `open`, with its comma and its line break. */
export function remove(text: string, open: number, member: Member): string {
  const indentation = /(?<![ \t])[ \t]*$/.exec(text.slice(0, member.from))?.[0].length ?? 0;
  const line = text.slice(0, member.from - indentation);
  const from = line.length - (/\r?\n$/.exec(line)?.[0].length ?? 0);
  return text.slice(0, Math.max(from, open + 1)) + text.slice(member.to);
}

function checkDepth(text: string): void {
  let level = 0;
  for (const { first } of tokensFrom(text, 0)) {
    level += "{[".includes(first) ? 1 : "}]".includes(first) ? -1 : 0;
    if (level > LEVELS_MAX) throw new Unchangeable(`it has more than ${LEVELS_MAX} levels`);
  }
}

interface Token {
  readonly first: string;
  /** The offset after the token. */
  readonly to: number;
}

/** The tokens from an offset on, without blanks and comments. */
export function* tokensFrom(text: string, at: number): Generator<Token, undefined> {
  const scanner = createScanner(text, true);
  scanner.setPosition(at);
  for (scanner.scan(); scanner.getTokenLength() > 0; scanner.scan()) {
    const from = scanner.getTokenOffset();
    yield { first: text.charAt(from), to: from + scanner.getTokenLength() };
  }
}

/** A comment: offsets into the text. The line break after a line comment is not part of it. */
export interface Comment {
  readonly from: number;
  readonly to: number;
  readonly isLine: boolean;
}

export function commentsIn(text: string): Comment[] {
  const scanner = createScanner(text.replace(/^\uFEFF/, " "), false);
  const comments: Comment[] = [];
  for (scanner.scan(); scanner.getTokenLength() > 0; scanner.scan()) {
    const from = scanner.getTokenOffset(), to = from + scanner.getTokenLength();
    const opening = text.slice(from, from + 2);
    if (opening === "//" || opening === "/*") comments.push({ from, to, isLine: opening === "//" });
  }
  return comments;
}
