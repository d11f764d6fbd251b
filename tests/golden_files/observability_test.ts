/** The alerts and the dashboard: valid files that query only metrics and labels that exist. */

import assert from "node:assert/strict";
import { loadAll } from "js-yaml";
import * as z from "zod";
import type { Definition } from "kit/http/metrics.ts";
import { readGolden } from "./gen.ts";
import { metricDefinitions } from "./reference/metrics_page.ts";

/** The functions and keywords of PromQL that the files use. */
const FUNCTIONS = [
  "absent",
  "changes",
  "histogram_quantile",
  "increase",
  "label_values",
  "max",
  "rate",
  "sum",
];
const WORDS = ["by", "on", "and", "or"];
/** Labels that Prometheus adds, and that of a histogram's buckets. */
const ADDED_LABELS = ["instance", "job", "le"];

const { daemon, relay } = await metricDefinitions();
const DEFINED = new Map([...daemon, ...relay].map((definition) => [definition.name, definition]));

/** The metric of a name in a query, which may be that of a histogram's series. */
function definitionOf(name: string): Definition | undefined {
  const histogram = DEFINED.get(name.replace(/_(?:bucket|sum|count)$/, ""));
  return DEFINED.get(name) ?? (histogram?.type === "histogram" ? histogram : undefined);
}

/** Unknown names in a query: metrics, functions, and labels of its metrics. */
function unknownIn(query: string): string[] {
  const plain = query.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').replaceAll(/\[[^\]]*\]/g, "");
  const grouped = [...plain.matchAll(/\b(?:by|on) \(([^)]*)\)/g)]
    .flatMap(([, list = ""]) => list.split(","));
  const matched = [...plain.matchAll(/\{([^}]*)\}/g)]
    .flatMap(([, list = ""]) => list.split(",").map((matcher) => matcher.split(/[!=]/)[0] ?? ""));
  const bare = plain.replaceAll(/\b(?:by|on) \([^)]*\)/g, "").replaceAll(/\{[^}]*\}/g, "");
  const names = [...bare.matchAll(/[a-zA-Z_]\w*/g)].map(([name]) => name)
    .filter((name) => !FUNCTIONS.includes(name) && !WORDS.includes(name));
  const metrics = names.map((name) => definitionOf(name));
  const labels = [...ADDED_LABELS, ...metrics.flatMap((metric) => metric?.labels ?? [])];
  return [
    ...names.filter((_, index) => metrics[index] === undefined && !labels.includes(_)),
    ...[...grouped, ...matched].map((label) => label.trim())
      .filter((label) => !labels.includes(label)),
    // A histogram has no series of its own name, and any other metric no buckets.
    ...names.filter((name) => DEFINED.get(name)?.type === "histogram"),
  ];
}

const Duration = z.string().regex(/^\d+[smh]$/);
const Rule = z.strictObject({
  alert: z.string().regex(/^Mesh[A-Za-z]+$/),
  expr: z.string().min(1),
  for: Duration.optional(),
  labels: z.strictObject({ severity: z.enum(["critical", "warning", "info"]) }),
  annotations: z.strictObject({ summary: z.string().min(1), description: z.string().min(1) }),
});
const Alerts = z.strictObject({
  groups: z.array(z.strictObject({ name: z.string(), rules: z.array(Rule).min(1) })),
});

const Datasource = z.strictObject({
  type: z.literal("prometheus"),
  uid: z.literal("${datasource}"),
});
const count = z.number().int().min(0);
const GridPosition = z.strictObject({ x: count, y: count, w: count.min(1), h: count.min(1) });
const Target = z.looseObject({
  refId: z.string().regex(/^[A-Z]$/),
  datasource: Datasource,
  expr: z.string().min(1),
  legendFormat: z.string(),
});
const Row = z.looseObject({
  type: z.literal("row"),
  id: count,
  title: z.string(),
  collapsed: z.literal(false),
  gridPos: GridPosition,
  panels: z.array(z.never()),
});
const Graph = z.looseObject({
  type: z.enum(["timeseries", "stat"]),
  id: count,
  title: z.string().min(1),
  description: z.string().min(1),
  datasource: Datasource,
  gridPos: GridPosition,
  fieldConfig: z.looseObject({
    defaults: z.looseObject({ unit: z.enum(["s", "bytes", "short"]) }),
  }),
  targets: z.array(Target).min(1),
});
const Dashboard = z.looseObject({
  uid: z.string().regex(/^[\w-]{1,40}$/),
  title: z.string(),
  schemaVersion: z.number().int().min(36),
  time: z.strictObject({ from: z.string(), to: z.string() }),
  templating: z.strictObject({
    list: z.array(z.looseObject({
      name: z.string(),
      type: z.enum(["datasource", "query"]),
      definition: z.string().optional(),
    })),
  }),
  annotations: z.strictObject({ list: z.array(z.looseObject({ expr: z.string() })) }),
  panels: z.array(z.discriminatedUnion("type", [Row, Graph])),
});

const alerts = () => Alerts.parse(loadAll(readGolden("docs/observability/alerts.yml"))[0]);
const dashboard = () => Dashboard.parse(JSON.parse(readGolden("docs/observability/grafana.json")));

Deno.test("every alert is well formed, has a unique name, and queries existing metrics", () => {
  const rules = alerts().groups.flatMap(({ rules }) => rules);
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
  assert.deepEqual(rules.flatMap(({ expr }) => unknownIn(expr)), []);
  // Prometheus loads no file with a query whose brackets do not close.
  for (const { expr } of rules) {
    assert.equal(expr.split("(").length, expr.split(")").length, expr);
  }
});

Deno.test("every panel of the dashboard is well formed, and queries existing metrics", () => {
  const { annotations, panels, templating } = dashboard();
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const variables = templating.list.map(({ name }) => name);
  const queries = [
    ...panels.flatMap((panel) => panel.type === "row" ? [] : panel.targets),
    ...annotations.list,
  ].map(({ expr }) => expr);
  assert.ok(queries.length > 30);
  for (const query of queries) {
    const used = [...query.matchAll(/\$(\w+)/g)].map(([, name = ""]) => name);
    assert.deepEqual(used.filter((name) => ![...variables, "__rate_interval"].includes(name)), []);
    assert.deepEqual(unknownIn(query), [], query);
  }
  const definitions = templating.list.flatMap(({ definition }) => definition ?? []);
  assert.deepEqual(definitions.flatMap(unknownIn), []);
});

Deno.test("the panels lie side by side, none over another one", () => {
  const taken = new Set<string>();
  for (const { gridPos: { x, y, w, h }, title } of dashboard().panels) {
    assert.ok(x + w <= 24, title);
    for (let cell = 0; cell < w * h; cell++) {
      const at = `${x + cell % w} ${y + Math.floor(cell / w)}`;
      assert.ok(!taken.has(at), title);
      taken.add(at);
    }
  }
});

Deno.test("a query with an unknown metric, label or function is found", () => {
  for (
    const query of [
      "rate(mesh_no_such_total[5m])",
      "sum by (nobody) (mesh_peers)",
      'mesh_peers{circle="a"}',
      "median(mesh_peers)",
      "mesh_delivery_seconds",
      "mesh_peers_bucket",
    ]
  ) {
    assert.equal(unknownIn(query).length, 1, query);
  }
  assert.deepEqual(unknownIn('sum by (status) (mesh_peers{status=~"a|b"}) > 2'), []);
});

Deno.test("the table of questions in the documents names only metrics that exist", () => {
  const named = readGolden("docs/observability.md").match(/`(?:mesh|process)_\w+`/g) ?? [];
  assert.ok(named.length > 20);
  assert.deepEqual(named.filter((name) => !DEFINED.has(name.replaceAll("`", ""))), []);
});
