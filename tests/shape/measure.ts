/** A lint plugin that measures for `deno task shape`: each message is a kind and a number. */

type Fn =
  | Deno.lint.FunctionDeclaration
  | Deno.lint.FunctionExpression
  | Deno.lint.ArrowFunctionExpression;
type Class = Deno.lint.ClassDeclaration | Deno.lint.ClassExpression;

/** Statements whose content is one level deeper. */
const BLOCKS = new Set([
  "IfStatement",
  "ForStatement",
  "ForInStatement",
  "ForOfStatement",
  "WhileStatement",
  "DoWhileStatement",
  "SwitchStatement",
  "TryStatement",
]);

const FUNCTIONS = new Set([
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
]);

function linesOf(text: string): number {
  return text.split("\n").length;
}

/** The number of blocks around a node within its function, its own included. */
function depthOf(node: Deno.lint.Node): number {
  let depth = 1;
  for (
    let at = parentOf(node);
    at && !FUNCTIONS.has(at.type);
    at = parentOf(at)
  ) {
    // A chain of `else if` counts as one level.
    const chained = at.type === "IfStatement" &&
      parentOf(at)?.type === "IfStatement";
    if (BLOCKS.has(at.type) && !chained) depth++;
  }
  return depth;
}

function parentOf(node: Deno.lint.Node): Deno.lint.Node | undefined {
  return "parent" in node ? node.parent as Deno.lint.Node : undefined;
}

const plugin: Deno.lint.Plugin = {
  name: "shape",
  rules: {
    measure: {
      create(context) {
        const report = (node: Deno.lint.Node, kind: string, number: number) =>
          context.report({ node, message: `${kind} ${number}` });
        const length = (kind: string) => (node: Fn | Class) =>
          report(node, kind, linesOf(context.sourceCode.getText(node)));
        const nesting = (node: Deno.lint.Node) => report(node, "nesting", depthOf(node));
        return {
          FunctionDeclaration: length("function"),
          FunctionExpression: length("function"),
          ArrowFunctionExpression: length("function"),
          ClassDeclaration: length("class"),
          ClassExpression: length("class"),
          ...Object.fromEntries([...BLOCKS].map((type) => [type, nesting])),
          TSAnyKeyword: (node: Deno.lint.Node) => report(node, "any", 1),
          TSNonNullExpression: (node: Deno.lint.Node) => report(node, "non-null", 1),
          TSAsExpression(node: Deno.lint.TSAsExpression) {
            const isConst = /\bas const$/.test(context.sourceCode.getText(node));
            if (!isConst) report(node, "cast", 1);
          },
        };
      },
    },
  },
};

export default plugin;
