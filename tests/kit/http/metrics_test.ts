/** Metrics in Prometheus' text format. */

import assert from "node:assert/strict";
import { Metrics } from "kit/http/metrics.ts";

Deno.test("each family has its help and its type before its samples", () => {
  const metrics = new Metrics();
  let level = 1;
  metrics.gauge("mesh_level", "A level", () => level);
  metrics.total("mesh_total", "A total", () => 17);
  metrics.gauges({ name: "mesh_states", help: "By state", label: "state" }, () => ({ a: 1, b: 2 }));
  level = 2;
  assert.equal(
    metrics.render(),
    `# HELP mesh_level A level
# TYPE mesh_level gauge
mesh_level 2

# HELP mesh_total A total
# TYPE mesh_total counter
mesh_total 17

# HELP mesh_states By state
# TYPE mesh_states gauge
mesh_states{state="a"} 1
mesh_states{state="b"} 2
`,
  );
});

Deno.test("a counter has one sample for each combination of its labels", () => {
  const metrics = new Metrics();
  const steps = metrics.counter("mesh_steps_total", "Steps", ["kind", "state"]);
  assert.doesNotMatch(metrics.render(), /^mesh_steps_total/m);
  steps.inc("ask", "sent");
  steps.inc("notify", "sent");
  steps.inc("ask", "sent");
  assert.match(metrics.render(), /^mesh_steps_total\{kind="ask",state="sent"\} 2$/m);
  assert.match(metrics.render(), /^mesh_steps_total\{kind="notify",state="sent"\} 1$/m);
});

Deno.test("a label's backslash, quote and line break are escaped", () => {
  const metrics = new Metrics();
  metrics.counter("mesh_x_total", "X", ["x"]).inc('a\\b"c\nd');
  assert.match(metrics.render(), /^mesh_x_total\{x="a\\\\b\\"c\\nd"\} 1$/m);
});

Deno.test("a duration is counted in the first bucket that holds it, and in all larger ones", () => {
  const metrics = new Metrics();
  const times = metrics.histogram("mesh_seconds", "Times", [0.001, 0.5]);
  for (const ms of [0, 1, 1.1, 500, 301_000]) times.observe(ms);
  assert.equal(
    metrics.render(),
    `# HELP mesh_seconds Times
# TYPE mesh_seconds histogram
mesh_seconds_bucket{le="0.001"} 2
mesh_seconds_bucket{le="0.5"} 4
mesh_seconds_bucket{le="+Inf"} 5
mesh_seconds_sum 301.5021
mesh_seconds_count 5
`,
  );
});
