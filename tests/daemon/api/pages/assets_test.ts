/** The dashboard's page and files: their policy, their caching, their size. */

import assert from "node:assert/strict";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import * as z from "zod";
import { print } from "../../../support/waiting.ts";
import { world } from "../../../support/world.ts";

/** The files of the first load, compressed; the whole load may take 110 kB with its data. */
const FIRST_LOAD_BYTES_MAX = 100_000;

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

async function decoded(answer: Response, coding: string): Promise<string> {
  const bytes = await answer.bytes();
  if (coding === "br") return brotliDecompressSync(bytes).toString();
  return coding === "gzip" ? gunzipSync(bytes).toString() : new TextDecoder().decode(bytes);
}

const SCRIPT = /src="(dashboard\/assets\/[^"]+)"/;

Deno.test("the page and each of its files are sent in the coding that the browser prefers", async () => {
  await using w = world();
  const html = await (await w.fetch("/dashboard")).text();
  const [, script = ""] = SCRIPT.exec(html) ?? [];
  const [, styles = ""] = /rel="stylesheet" href="([^"]+)"/.exec(html) ?? [];
  const { icons } = Manifest.parse(
    await (await w.fetch("/dashboard/manifest.webmanifest")).json(),
  );
  const worker = "dashboard/worker.js", manifest = "dashboard/manifest.webmanifest";
  for (const path of ["dashboard", script, styles, worker, manifest]) {
    const plain = await (await w.fetch(`/${path}`)).text();
    for (const [accepted, coding] of [["gzip, br", "br"], ["gzip, br;q=0.5", "gzip"]] as const) {
      const answer = await w.fetch(`/${path}`, { headers: { "accept-encoding": accepted } });
      assert.equal(answer.headers.get("content-encoding"), coding, path);
      assert.equal(answer.headers.get("vary"), "accept-encoding", path);
      assert.equal(await decoded(answer, coding), plain, path);
    }
  }
  const picture = icons.find(({ type }) => type === "image/png")?.src ?? "";
  const headers = { "accept-encoding": "br, gzip" };
  const answer = await w.fetch(`/dashboard/${picture}`, { headers });
  assert.equal(answer.headers.get("content-encoding"), null);
  await answer.body?.cancel();
});

Deno.test("each coding of a file has a strong validator of its own", async () => {
  await using w = world();
  const [, script = ""] = SCRIPT.exec(await (await w.fetch("/dashboard")).text()) ?? [];
  const fetchAs = (coding: string, more: Record<string, string> = {}) =>
    w.fetch(`/${script}`, { headers: { "accept-encoding": coding, ...more } });
  const tags = await Promise.all(["br", "gzip", "identity"].map(async (coding) => {
    const answer = await fetchAs(coding);
    await answer.body?.cancel();
    return answer.headers.get("etag") ?? "";
  }));
  assert.equal(new Set(tags).size, 3);
  for (const tag of tags) assert.match(tag, /^"[\w-]+"$/);
  const [br = "", gzip = ""] = tags;
  const known = await fetchAs("br", { "if-none-match": `${gzip}, W/${br}` });
  assert.deepEqual([known.status, await known.text()], [304, ""]);
  assert.equal(known.headers.get("etag"), br);
  assert.match(known.headers.get("cache-control") ?? "", /immutable/);
  const other = await fetchAs("br", { "if-none-match": gzip });
  assert.equal(other.status, 200);
  await other.body?.cancel();
});

Deno.test("HEAD of a file has the length of its coding, and a range of it is the whole file", async () => {
  await using w = world();
  const [, script = ""] = SCRIPT.exec(await (await w.fetch("/dashboard")).text()) ?? [];
  const headers = { "accept-encoding": "br" };
  const whole = await (await w.fetch(`/${script}`, { headers })).bytes();
  const head = await w.fetch(`/${script}`, { headers, method: "HEAD" });
  assert.equal(head.headers.get("content-length"), String(whole.length));
  assert.equal(head.headers.get("content-encoding"), "br");
  const range = await w.fetch(`/${script}`, { headers: { ...headers, range: "bytes=0-9" } });
  assert.deepEqual([range.status, (await range.bytes()).length], [200, whole.length]);
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
  name: z.string(),
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
  const { name, start_url, scope, icons } = Manifest.parse(await answer.json());
  assert.equal(name, "here · Agent Mesh");
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
