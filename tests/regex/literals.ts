/** Every regular expression in the sources, with its file and line, from the syntax tree. */

import { sources } from "../tidy/sources.ts";

export interface Literal {
  /** `path:line` */
  readonly at: string;
  /** As written in the source: `/…/flags`, or `new RegExp(…)`. */
  readonly code: string;
  /** Undefined if the pattern is built at run time. */
  readonly regex: RegExp | undefined;
}

/** All regular expressions of one source. */
export function literalsIn(path: string, text: string): Literal[] {
  const plugin: Deno.lint.Plugin = {
    name: "regex",
    rules: {
      collect: {
        create: (context) => {
          const report = (node: Deno.lint.Node) =>
            context.report({ node, message: context.sourceCode.getText(node) });
          // A selector with an attribute takes six times as long as the rest of a file.
          const reportRegExp = (node: Deno.lint.NewExpression | Deno.lint.CallExpression) => {
            if (node.callee.type === "Identifier" && node.callee.name === "RegExp") report(node);
          };
          return {
            Literal: (node) => void ("regex" in node && node.regex && report(node)),
            NewExpression: reportRegExp,
            CallExpression: reportRegExp,
          };
        },
      },
    },
  };
  return Deno.lint.runPlugin(plugin, path, text).map(({ range, message: code }) => {
    const at = `${path}:${text.slice(0, range[0]).split("\n").length}`;
    return { at, code: code.replaceAll(/\s+/g, " "), regex: parseLiteral(code) };
  });
}

/** All regular expressions of the product, without its tests. */
export function literals(): Literal[] {
  return sources().filter(({ path }) => !path.startsWith("tests/"))
    .flatMap(({ path, text }) => literalsIn(path, text));
}

function parseLiteral(code: string): RegExp | undefined {
  if (!code.startsWith("/")) return undefined;
  const end = code.lastIndexOf("/");
  return new RegExp(code.slice(1, end), code.slice(end + 1));
}
