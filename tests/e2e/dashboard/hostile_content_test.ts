/** Content of agents stays text: nothing runs, leaves the page, or breaks the layout. */

import assert from "node:assert/strict";
import { createJob } from "protocol/jobs/contract.ts";
import { describePeer } from "protocol/peers/contract.ts";
import { createSchedule } from "protocol/schedules/contract.ts";
import { DashboardLab } from "../../support/dashboard/dashboard_lab.ts";
import { print } from "../../support/waiting.ts";

const PAYLOADS = [
  "<script>globalThis.ran = 1</script>",
  "<img src=x onerror='globalThis.ran = 1'>",
  "<svg onload='globalThis.ran = 1'></svg>",
  "[a link](javascript:globalThis.ran=1)",
  "[a link](JaVaScRiPt:globalThis.ran=1)",
  "[a link](data:text/html,<script>globalThis.ran=1</script>)",
  "![a picture](https://evil.example/pixel.png)",
  "<iframe src='https://evil.example'></iframe>",
  "<style>body { display: none }</style>",
  "<form action='https://evil.example'><button>Send</button></form>",
  "<base href='https://evil.example/'><meta http-equiv='refresh' content='0;url=https://evil.example'>",
  '<https://evil.example/" onmouseover="globalThis.ran=1>',
  "```html\n</code></pre><script>globalThis.ran = 1</script>\n```",
  "| <b onclick='globalThis.ran=1'>x</b> |\n| --- |\n| <script>globalThis.ran=1</script> |",
  "\u001b[2J\u001b]0;title\u0007\u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007",
  "\u202Egnp.exe \u2066 right to left \u2069",
  "Z\u0300\u0301\u0302\u0303\u0304".repeat(200),
  "x".repeat(5000),
  `${">".repeat(500)} deep`,
  `${"- ".repeat(300)}deep`,
  `${"[".repeat(2000)}`,
  "{{constructor.constructor('globalThis.ran=1')()}} ${globalThis.ran=1}",
  "__proto__",
  "*a_".repeat(4000),
  `${"|a".repeat(200)}|\n${"|-".repeat(200)}|\n${"a\n".repeat(2000)}`,
  "[https://github.com](https://evil.example/\u202e)",
];

Deno.test("hostile content is inert in every view", async () => {
  const lab = await DashboardLab.start();
  if (!lab) return print("skipped: hostile content (no Chromium; install the package chromium)");
  await using _lab = lab;
  const [evil, web] = [await lab.peer({ name: "evil" }), await lab.peer({ name: "__proto__" })];
  let last = "";
  for (const text of PAYLOADS) {
    await web.request("notify", { to_peer: evil.peer_id, text });
    const options = [{ id: "yes", title: text.slice(0, 1000) }];
    const question = { kind: "choice", prompt: text, options, metadata: { tool_input: text } };
    last = (await evil.request("ask", { to_peer: "sam", text, question })).correlation_id ?? last;
    await evil.request("notify", { to_peer: "sam", text });
    const asked = await web.request("ask", { to_peer: evil.peer_id, text: "Well?" });
    const { correlation_id } = asked;
    if (text.length % 2) await evil.request("ack", { correlation_id, message: text });
    else await evil.request("decline", { correlation_id, reason: text });
  }
  const description = PAYLOADS.slice(0, 5).join(" ");
  await lab.call(describePeer, { params: { id: evil.peer_id }, query: {}, body: { description } });
  const assigned_peer = evil.peer_id, prompt = PAYLOADS.join("\n\n");
  const made = await lab.call(createJob, {
    body: { title: PAYLOADS[1] ?? "", prompt, assigned_peer },
  });
  const job = "job_id" in made ? made.job_id : "";
  await lab.call(createSchedule, {
    body: { from_peer: "evil", to_peer: web.peer_id, text: PAYLOADS[0] ?? "", fire_at: "1h" },
  });
  const page = await lab.open();
  const views = ["attention", "mesh", `peers/${evil.peer_id}`, "log", "log?q=x*", "asks"];
  for (
    const view of [
      ...views,
      `asks/${last}`,
      "jobs",
      `jobs/${job}`,
      "mesh?tab=map",
      "schedules",
      "health",
      "%E0%A4%A/%E0%A4%A",
    ]
  ) {
    await page.evaluate((to) => location.hash = to, `#/${view}`);
    await page.locator(".skeleton").first().waitFor({ state: "detached" });
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    await page.evaluate(
      "document.querySelectorAll('main button[aria-expanded=false]').forEach((row) => row.click())",
    );
    await page.locator(".skeleton").first().waitFor({ state: "detached" });
    const found = await page.evaluate(`({
      ran: typeof globalThis.ran,
      wide: document.documentElement.scrollWidth - innerWidth,
      foreign: document.querySelectorAll(
        "main :is(script, img, iframe, style, base, meta, object, [href^='javascript' i], [href^='data' i])",
      ).length,
    })`);
    assert.deepEqual(found, { ran: "undefined", wide: 0, foreign: 0 }, view);
  }
  assert.deepEqual(lab.offences, []);
});
