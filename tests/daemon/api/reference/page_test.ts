/** The API reference at `/docs`. */

import assert from "node:assert/strict";
import { TAGS } from "../../../../daemon/api/reference/api_info.ts";
import { BASE, type World, world } from "../../../support/world.ts";

async function pageOf(w: World): Promise<string> {
  return await (await w.fetch("/docs")).text();
}

Deno.test("the reference has every route under its group, and every link in it leads somewhere", async () => {
  await using w = world();
  const page = await pageOf(w);
  for (const { contract } of w.daemon.routes) {
    assert.ok(page.includes(`<article id="${contract.id}">`), contract.id);
  }
  for (const { name } of TAGS) assert.ok(page.includes(`<h2 id="${name.toLowerCase()}">`), name);
  for (const [, anchor] of page.matchAll(/href="#([^"]+)"/g)) {
    assert.ok(page.includes(`id="${anchor}"`), `#${anchor} leads nowhere`);
  }
  assert.doesNotMatch(page, /<script|javascript:|undefined|\[object/);
});

/** The lines of the page for a shell, without their escapes for HTML. */
function commandsOf(page: string): string[] {
  return [...page.matchAll(/<code>(curl [^]*?)<\/code>/g)].map(([, line = ""]) =>
    line.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">").replaceAll("&amp;", "&")
  );
}

/** The request of a line, as curl would send it. */
function requestOf(line: string): Request {
  const words = [...line.replaceAll("\\\n", " ").matchAll(/'((?:[^']|'\\'')*)'|(\S+)/g)]
    .map(([, text, word = ""]) => text?.replaceAll("'\\''", "'") ?? word);
  const after = (flag: string) => words[words.indexOf(flag) + 1];
  const body = words.includes("-d") ? after("-d") : undefined;
  const method = words.includes("-X") ? after("-X") : body === undefined ? "GET" : "POST";
  const url = words.find((word) => word.startsWith(BASE)) ?? "";
  return new Request(url, { method: method ?? "GET", ...(body !== undefined && { body }) });
}

/** These hold the connection, or take a file. */
const NOT_RUN = /events\/stream|ask-blocking|\/wait|\/mcp|FILE/;
/** Refusals of malformed requests. An example may fail otherwise: its records do not exist. */
const MISUSED = ["bad_json", "invalid_request", "method_not_allowed", "not_found", "unknown_key"];

Deno.test("every curl line of the reference is a request that its route understands", async () => {
  await using w = world();
  const lines = commandsOf(await pageOf(w)).filter((line) => !NOT_RUN.test(line));
  assert.ok(lines.length > 80);
  for (const line of lines) {
    const response = await w.daemon.fetch(requestOf(line), undefined);
    const text = await response.text();
    const isAsset = line.includes("/dashboard/assets/");
    if (response.ok || response.status < 400 || isAsset) continue;
    const { error } = JSON.parse(text);
    assert.ok(!MISUSED.includes(error), `${line}\n${text}`);
  }
});
