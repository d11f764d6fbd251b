/** What `deno task shape` measures of the syntax tree; `deno lint` loads this file and reports it. */

type Fn =
  | Deno.lint.FunctionDeclaration
  | Deno.lint.FunctionExpression
  | Deno.lint.ArrowFunctionExpression;
type Class = Deno.lint.ClassDeclaration | Deno.lint.ClassExpression;

/** Statements that put what is in them one level deeper. */
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

/** How many blocks a node is in, within its function. */
function depthOf(node: Deno.lint.Node): number {
  let depth = 1;
  for (
    let at = parentOf(node);
    at && !FUNCTIONS.has(at.type);
    at = parentOf(at)
  ) {
    // `else if` reads as one level, and so it counts as one.
    const chained = at.type === "IfStatement" &&
      parentOf(at)?.type === "IfStatement";
    if (BLOCKS.has(at.type) && !chained) depth++;
  }
  return depth;
}

function parentOf(node: Deno.lint.Node): Deno.lint.Node | undefined {
  return "parent" in node ? node.parent as Deno.lint.Node : undefined;
}

/** One measurement: its kind and its number stand in the message. */
function measure(kind: string, number: number) {
  return `${kind} ${number}`;
}

const plugin: Deno.lint.Plugin = {
  name: "shape",
  rules: {
    measure: {
      create(context) {
        const report = (node: Deno.lint.Node, kind: string, number: number) =>
          context.report({ node, message: measure(kind, number) });
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
            const text = context.sourceCode.getText(node.typeAnnotation);
            if (text !== "const") report(node, "cast", 1);
          },
        };
      },
    },
  },
};

export default plugin;
