/** The page and the manifest carry their machine's name, colour and icons. */

import assert from "node:assert/strict";
import { inflateSync } from "node:zlib";
import * as z from "zod";
import { COLOURS } from "../../../dashboard/files/machine_icon.ts";
import {
  assetResponse,
  dashboardPage,
  manifestResponse,
  type PageMachine,
} from "../../../dashboard/files/responses.ts";

const Manifest = z.object({
  name: z.string(),
  short_name: z.string(),
  theme_color: z.string(),
  icons: z.array(z.object({
    src: z.string(),
    type: z.string(),
    sizes: z.string(),
    purpose: z.string().optional(),
  })),
});

const REQUEST = new Request("http://localhost/dashboard");

async function manifestOf(machine: PageMachine) {
  return Manifest.parse(await (await manifestResponse(REQUEST, machine)).json());
}

const idOf = (number: number) => `dm-${number.toString(16).padStart(12, "0")}`;

/** The colour of a pixel in the corner of a PNG whose entries of the palette are bytes. */
function cornerOf(png: Uint8Array<ArrayBuffer>): string {
  const view = new DataView(png.buffer);
  const chunks = new Map<string, Uint8Array<ArrayBuffer>>();
  for (let at = 8; at < png.length;) {
    const length = view.getUint32(at);
    const type = new TextDecoder().decode(png.slice(at + 4, at + 8));
    chunks.set(type, png.slice(at + 8, at + 8 + length));
    at += length + 12;
  }
  const entry = inflateSync(chunks.get("IDAT") ?? new Uint8Array())[1] ?? 0;
  return `#${chunks.get("PLTE")?.slice(entry * 3, entry * 3 + 3).toHex()}`;
}

Deno.test("the manifest and its icons are those of the machine", async () => {
  const { name, short_name, theme_color, icons } = await manifestOf({
    daemon_id: idOf(1),
    name: "buildbox",
  });
  assert.deepEqual([name, short_name], ["buildbox · Agent Mesh", "buildbox"]);
  assert.ok(COLOURS.some((colour) => colour === theme_color));
  const maskable = icons.find(({ purpose }) => purpose === "maskable");
  const icon = await assetResponse(new Request(`http://localhost/dashboard/${maskable?.src}`));
  assert.equal(cornerOf(await icon.bytes()), theme_color);
  assert.match(icon.headers.get("cache-control") ?? "", /immutable/);
  const svg = icons.find(({ type }) => type === "image/svg+xml");
  const drawing = await assetResponse(new Request(`http://localhost/dashboard/${svg?.src}`));
  assert.match(await drawing.text(), new RegExp(`<rect [^>]*fill="${theme_color}"`));
});

Deno.test("a machine keeps its colour, and machines have different colours", async () => {
  const colourOf = async (number: number, name: string) =>
    (await manifestOf({ daemon_id: idOf(number), name })).theme_color;
  assert.equal(await colourOf(1, "here"), await colourOf(1, "renamed"));
  const colours = await Promise.all(Array.from({ length: 60 }, (_, at) => colourOf(at, "m")));
  assert.equal(new Set(colours).size, COLOURS.length);
});

Deno.test("an icon in a colour that no machine has is a 404", async () => {
  const { icons: [icon] } = await manifestOf({ daemon_id: idOf(1), name: "here" });
  for (const colour of [String(COLOURS.length), "99", "-1", "x", ""]) {
    const path = icon?.src.replace(/\.\d+\.svg$/, `.${colour}.svg`);
    await assert.rejects(
      assetResponse(new Request(`http://localhost/dashboard/${path}`)),
      /No such route|not_found/,
    );
  }
});

const HOSTILE = {
  markup: '"><script>run()</script><meta http-equiv=refresh content="0',
  long: "m".repeat(200),
  "right to left": "\u202eחשב\u202c",
  emoji: "🖥️ laptop 👩‍💻",
  placeholder: "{{colour}} $& \\",
  "JSON and line ends": '","theme_color":"red\n\r\t\u0000',
};

for (const [what, name] of Object.entries(HOSTILE)) {
  Deno.test(`a machine's name is text in the page and in the manifest: ${what}`, async () => {
    const machine = { daemon_id: idOf(1), name };
    const plain = await (await dashboardPage(REQUEST, { ...machine, name: "x" })).text();
    const page = await (await dashboardPage(REQUEST, machine)).text();
    const tags = (html: string) => html.match(/<[a-z]+/g);
    assert.deepEqual(tags(page), tags(plain));
    const manifest = await manifestOf(machine);
    assert.equal(manifest.theme_color, (await manifestOf({ ...machine, name: "x" })).theme_color);
    assert.ok(Array.from(manifest.short_name).length <= 64);
    assert.doesNotMatch(manifest.short_name, /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
  });
}

Deno.test("without a name, the manifest has the machine's id", async () => {
  const { name, short_name } = await manifestOf({ daemon_id: idOf(1) });
  assert.deepEqual([name, short_name], [`${idOf(1)} · Agent Mesh`, idOf(1)]);
});
