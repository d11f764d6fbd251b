/** Pictures of the gallery of components: taken, kept, and compared pixel by pixel. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { serveGallery } from "./gallery_server.ts";
import { until } from "../../waiting.ts";
import { palettePng } from "./palette_png.ts";
import type { Browsers } from "../shared_browser.ts";

/** The kept pictures: a folder for each kind, a file for each section of the gallery. */
export const KEPT = fileURLToPath(new URL("../../../golden/pictures/", import.meta.url));

const DESK = { viewport: { width: 1100, height: 900 } };
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true };
const KINDS: Readonly<Record<string, BrowserContextOptions>> = {
  "desk-light": { ...DESK, colorScheme: "light" },
  "desk-dark": { ...DESK, colorScheme: "dark" },
  "phone-light": { ...PHONE, colorScheme: "light" },
  "phone-dark": { ...PHONE, colorScheme: "dark" },
};

/** The gallery shows ages and the next times of a schedule. */
const NOW = new Date("2026-05-04T09:30:00Z");

/** Fonts of Debian's package fonts-dejavu-core, in place of those that each system prefers. */
const FONTS = `:root { --sans: "DejaVu Sans", sans-serif; --mono: "DejaVu Sans Mono", monospace }`;

/** Half of a pixel: a quarter of the bytes, and a line that moves by one is seen still. */
const SCALE = 0.5;

/** Defines a function of a page, which decodes a PNG. */
const PIXELS_OF = `const pixelsOf = async (base64) => {
  const image = new Image();
  image.src = "data:image/png;base64," + base64;
  await image.decode();
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, image.width, image.height);
};`;

/** A base64 PNG for each name, such as `desk-light/markdown`. */
export type Pictures = ReadonlyMap<string, string>;

/**
 * Takes a picture of each section in each kind, or of those named. `style`: another look, as CSS.
 * `expected`: pictures that need no second look if they are found at once.
 */
export async function takePictures(
  browsers: Browsers,
  { style = "", only, expected }: {
    style?: string;
    only?: readonly string[];
    expected?: Pictures;
  } = {},
): Promise<Pictures> {
  const ended = new AbortController();
  const gallery = await serveGallery({ port: 0, signal: ended.signal });
  const pictures = new Map<string, string>();
  const blank = await (await browsers.newContext({})).newPage();
  for (const [kind, options] of Object.entries(KINDS)) {
    const page = await pageOf(browsers, options);
    await page.goto(gallery.url);
    await page.addStyleTag({ content: FONTS + style });
    await page.locator(".chart-plot").waitFor();
    await page.waitForLoadState("networkidle");
    const names = only ?? await page.evaluate<string[]>(
      `[...document.querySelectorAll("main > section")].map(({ ariaLabel }) => ariaLabel)`,
    );
    for (const name of names) {
      // Alone, so that the size of one section does not move the others.
      await page.evaluate(`for (const section of document.querySelectorAll("main > section")) {
        section.style.display = section.ariaLabel === ${JSON.stringify(name)} ? "" : "none";
      }`);
      await showWhole(page);
      const section = page.getByRole("region", { name, exact: true }).first();
      const key = `${kind}/${name.toLowerCase().replaceAll(/\W+/g, "_")}`;
      pictures.set(key, await settledPicture(section, blank, expected?.get(key)));
    }
    await page.context().close();
  }
  await blank.context().close();
  ended.abort();
  await gallery.ended;
  return pictures;
}

/** Makes the screen as tall as the page: one that scrolls is not always drawn as a whole. */
async function showWhole(page: Page): Promise<void> {
  const { width, height } = page.viewportSize() ?? DESK.viewport;
  const needed = await page.evaluate<number>("document.getElementById('main').scrollHeight");
  if (needed <= height) return;
  await page.setViewportSize({ width, height: needed });
  await showWhole(page);
}

/** A small picture, once it is the expected one, or two in a row are the same. */
async function settledPicture(section: Locator, blank: Page, expected?: string): Promise<string> {
  let last = "";
  return await until("a picture that stays the same", async () => {
    const shown = await section.screenshot({ animations: "disabled", caret: "hide" });
    const before = last;
    last = await toSmall(blank, shown.toString("base64"));
    return (last === expected || last === before) && last;
  });
}

/** Has a page decode a picture, in base64, and makes a small one of it. */
async function toSmall(page: Page, picture: string): Promise<string> {
  const { width, height, rgba } = await page.evaluate<
    { width: number; height: number; rgba: string }
  >(`(async () => {
    ${PIXELS_OF}
    const { width, height, data } = await pixelsOf("${picture}");
    return { width, height, rgba: new Uint8Array(data.buffer).toBase64() };
  })()`);
  return palettePng({ width, height, rgba: Uint8Array.fromBase64(rgba) }).toBase64();
}

/** A page that looks the same at each time, at each place, and on each machine with its fonts. */
async function pageOf(browsers: Browsers, options: BrowserContextOptions): Promise<Page> {
  const context = await browsers.newContext({
    ...options,
    bypassCSP: true,
    deviceScaleFactor: SCALE,
    locale: "en-US",
    reducedMotion: "reduce",
    timezoneId: "UTC",
  });
  const page = await context.newPage();
  await page.clock.setFixedTime(NOW);
  return page;
}

/**
 * The browser, and a hash of texts as it draws them: pictures of browsers that differ in it cannot
 * be compared.
 */
export async function rendererOf(browsers: Browsers): Promise<string> {
  const page = await pageOf(browsers, {});
  const drawn = await page.evaluate<string>(`(() => {
    const canvas = document.createElement("canvas");
    const context = canvas.getContext("2d");
    for (const [row, font] of ["DejaVu Sans", "DejaVu Sans Mono"].entries()) {
      context.font = "15px '" + font + "'";
      context.fillText("Agent Mesh ⟨U+202E⟩ → ✓ − 0123456789", 0, 20 + 30 * row);
    }
    return canvas.toDataURL();
  })()`);
  const version = page.context().browser()?.version() ?? "";
  await page.context().close();
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(drawn));
  return `Chromium ${version}, texts ${new Uint8Array(hash).toHex().slice(0, 16)}`;
}

export function readKept(): Pictures {
  const pictures = new Map<string, string>();
  for (const { name: kind, isDirectory } of Deno.readDirSync(KEPT)) {
    if (!isDirectory) continue;
    for (const { name } of Deno.readDirSync(join(KEPT, kind))) {
      const bytes = Deno.readFileSync(join(KEPT, kind, name));
      pictures.set(`${kind}/${name.replace(/\.png$/, "")}`, bytes.toBase64());
    }
  }
  return pictures;
}

export function writePictures(folder: string, pictures: Pictures): void {
  for (const [name, picture] of pictures) {
    const file = join(folder, `${name}.png`);
    Deno.mkdirSync(join(file, ".."), { recursive: true });
    Deno.writeFileSync(file, Uint8Array.fromBase64(picture));
  }
}

interface Comparison {
  /** The reason why they differ; empty if they look the same. */
  readonly difference: string;
  /** The new picture, faint, with the pixels that differ in red. */
  readonly picture: string;
}

/** The differences by name, with a picture of the difference. */
export async function compare(
  browsers: Browsers,
  kept: Pictures,
  taken: Pictures,
): Promise<ReadonlyMap<string, Comparison>> {
  const context = await browsers.newContext({});
  const page = await context.newPage();
  const found = new Map<string, Comparison>();
  for (const name of new Set([...kept.keys(), ...taken.keys()])) {
    const [before, after] = [kept.get(name), taken.get(name)];
    if (before === after) continue;
    const result: Comparison = before === undefined || after === undefined
      ? { difference: before ? "is no longer there" : "is new", picture: before ?? after ?? "" }
      : await page.evaluate(comparison(before, after));
    if (result.difference) found.set(name, result);
  }
  await context.close();
  return found;
}

/** Runs in a page, which decodes the pictures. */
const comparison = (before: string, after: string) =>
  `(async () => {
    ${PIXELS_OF}
    const [old, next] = await Promise.all([pixelsOf("${before}"), pixelsOf("${after}")]);
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [next.width, next.height];
    const context = canvas.getContext("2d");
    const shown = context.createImageData(next.width, next.height);
    let different = 0;
    for (let y = 0; y < next.height; y++) {
      for (let x = 0; x < next.width; x++) {
        const at = 4 * (y * next.width + x), from = 4 * (y * old.width + x);
        const isSame = x < old.width && y < old.height && [0, 1, 2].every((channel) =>
          next.data[at + channel] === old.data[from + channel]);
        if (!isSame) different++;
        for (let channel = 0; channel < 3; channel++) {
          shown.data[at + channel] = isSame
            ? 255 - (255 - next.data[at + channel]) / 4
            : channel === 0 ? 255 : 0;
        }
        shown.data[at + 3] = 255;
      }
    }
    context.putImageData(shown, 0, 0);
    const sizes = [old, next].map(({ width, height }) => width + " × " + height);
    const difference = sizes[0] !== sizes[1]
      ? "is " + sizes[1] + " and was " + sizes[0]
      : different > 0 ? "differs in " + different + " pixels" : "";
    return { difference, picture: canvas.toDataURL().split(",")[1] };
  })()`;
