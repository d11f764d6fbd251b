/** The dashboard's page and files: their policy, their caching, their size. */

import assert from "node:assert/strict";
import * as z from "zod";
import { print } from "../../../support/waiting.ts";
import { world } from "../../../support/world.ts";

/** First load, compressed (issue 13). */
const FIRST_LOAD_BYTES_MAX = 120 * 1024;

async function compressedSize(text: string): Promise<number> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return (await new Response(stream).arrayBuffer()).byteLength;
}

Deno.test("GET /dashboard loads only files of its own, which may be kept for ever [4.dashboard]", async () => {
  await using w = world();
  const page = await w.fetch("/dashboard");
  const html = await page.text();
  const policy = page.headers.get("content-security-policy") ?? "";
  assert.ok(policy.startsWith("default-src 'none'"));
  assert.ok(!/unsafe|https?:|\*/.test(policy), policy);
  assert.equal(page.headers.get("cache-control"), "no-store");
  const linked = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, file]) => `/${file}`);
  assert.equal(linked.length, 8);
  // The manifest has an address that stays; icons are loaded where a phone installs the page.
  const files = linked.filter((file) => !/manifest|\.png$/.test(file));
  assert.equal(files.length, 6);
  assert.ok(!/<style|<script>| on\w+=| style=/.test(html), "nothing is inline");
  let total = await compressedSize(html);
  for (const file of files) {
    const answer = await w.fetch(file);
    assert.equal(answer.status, 200, file);
    assert.match(answer.headers.get("cache-control") ?? "", /immutable/);
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
    const size = await compressedSize(await answer.text());
    print(`${file}: ${(size / 1024).toFixed(1)} kB compressed`);
    total += size;
  }
  print(`First load of the dashboard: ${(total / 1024).toFixed(1)} kB compressed`);
  assert.ok(total <= FIRST_LOAD_BYTES_MAX, `${total} bytes`);
});

Deno.test("the page names the terminal, which is a file of its own and loaded later", async () => {
  await using w = world();
  const html = await (await w.fetch("/dashboard")).text();
  const [, file = ""] = /<meta name="mesh-part-terminal" content="([^"]+)">/.exec(html) ?? [];
  const answer = await w.fetch(`/${file}`);
  assert.equal(answer.status, 200, file);
  assert.match(answer.headers.get("content-type") ?? "", /^text\/javascript/);
  assert.match(answer.headers.get("cache-control") ?? "", /immutable/);
  assert.match(await answer.text(), /openTerminal/);
});

Deno.test("GET /dashboard/assets/… of another version is a 404", async () => {
  await using w = world();
  for (const name of ["dashboard.0000000000000000.js", "x", "..%2fmain.ts", "__proto__"]) {
    const answer = await w.fetch(`/dashboard/assets/${name}`);
    assert.equal(answer.status, 404, name);
    await answer.body?.cancel();
  }
});

const Manifest = z.object({
  start_url: z.string(),
  scope: z.string(),
  display: z.literal("standalone"),
  icons: z.array(z.object({ src: z.string(), type: z.string(), sizes: z.string() })),
});

Deno.test("the manifest names the page and icons of their sizes, relative to its address", async () => {
  await using w = world();
  const address = "/dashboard/manifest.webmanifest";
  const answer = await w.fetch(address);
  assert.equal(answer.headers.get("content-type"), "application/manifest+json");
  const { start_url, scope, icons } = Manifest.parse(await answer.json());
  const resolve = (path: string) => new URL(path, `http://localhost${address}`).pathname;
  assert.deepEqual([resolve(start_url), resolve(scope)], ["/dashboard", "/dashboard"]);
  assert.deepEqual(icons.map(({ sizes }) => sizes), ["any", "192x192", "512x512", "512x512"]);
  for (const { src, type, sizes } of icons) {
    const icon = await w.fetch(resolve(src));
    assert.deepEqual([icon.status, icon.headers.get("content-type")], [200, type]);
    const bytes = await icon.bytes();
    if (type !== "image/png") continue;
    const [width, height] = [16, 20].map((at) => new DataView(bytes.buffer).getUint32(at));
    assert.equal(`${width}x${height}`, sizes, src);
  }
});

Deno.test("the service worker may serve the page beside its folder, and nothing else", async () => {
  await using w = world();
  const answer = await w.fetch("/dashboard/worker.js");
  assert.match(answer.headers.get("content-type") ?? "", /^text\/javascript/);
  assert.equal(answer.headers.get("service-worker-allowed"), "/dashboard");
  assert.equal(answer.headers.get("cache-control"), "no-cache");
  const policy = answer.headers.get("content-security-policy");
  assert.equal(policy, "default-src 'none'; connect-src 'self'");
  const [, list = ""] = /^const FILES = (\[[^\]]*\]);$/m.exec(await answer.text()) ?? [];
  const files = z.array(z.string()).parse(JSON.parse(list));
  assert.ok(
    files.some((file) => file.endsWith(".js")) && files.some((file) => /\.css$/.test(file)),
  );
  for (const file of files) {
    const kept = await w.fetch(`/dashboard/${file}`);
    assert.equal(kept.status, 200, file);
    await kept.body?.cancel();
  }
});
