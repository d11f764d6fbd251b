/** The files of the dashboard and their names: `deno task gen` makes their contents. */

import scripts from "./generated/scripts.json" with { type: "json" };
import styles from "./generated/dashboard.css" with { type: "text" };
import icon from "./generated/icon.svg" with { type: "text" };
import icon192 from "./generated/icon_192.png.base64" with { type: "text" };
import icon512 from "./generated/icon_512.png.base64" with { type: "text" };
import maskable from "./generated/icon_maskable.png.base64" with { type: "text" };
import qr from "./generated/qr.js" with { type: "text" };
import terminal from "./generated/terminal.js" with { type: "text" };
import worker from "./generated/worker.js" with { type: "text" };
import { type Content, digestOf } from "./stored_file.ts";

interface Asset {
  /** Contains a digest of the content. */
  readonly name: string;
  readonly type: string;
  readonly content: Content;
}

export const SCRIPT_TYPE = "text/javascript; charset=utf-8";

const MODULES: ReadonlyMap<string, string> = new Map(Object.entries(scripts.modules));
export const SCRIPT = asset("dashboard", "js", SCRIPT_TYPE, moduleOf(scripts.entry));
/** Modules that the script needs to start. */
export const IMPORTED = scripts.imported.map(toModule);
/** The modules that a view needs when it is first shown, by the name of its file. */
export const LATER: Readonly<Record<string, readonly string[]>> = scripts.later;
/** Loaded when a view is first shown. The bundler gives all modules a name with a digest. */
const LOADED = [...MODULES.keys()]
  .filter((name) => name !== scripts.entry && !scripts.imported.includes(name)).map(toModule);
/** Loaded only by the view that shows a terminal. */
export const TERMINAL = asset("terminal", "js", SCRIPT_TYPE, terminal);
/** Loaded when a QR code is shown. */
export const QR = asset("qr", "js", SCRIPT_TYPE, qr);
export const STYLES = asset("dashboard", "css", "text/css; charset=utf-8", styles);
export const ICON = asset("icon", "svg", "image/svg+xml", icon);
const ICON_192 = asset("icon-192", "png", "image/png", bytesOf(icon192));
const ICON_512 = asset("icon-512", "png", "image/png", bytesOf(icon512));
/** Fills its whole square: the device cuts it into its own shape. */
export const MASKABLE_ICON = asset("icon-maskable", "png", "image/png", bytesOf(maskable));

/** The files that the page needs while its server cannot be reached. */
const PAGE_ASSETS = [SCRIPT, ...IMPORTED, ...LOADED, TERMINAL, QR, STYLES];
export const ASSETS = [...PAGE_ASSETS, ICON, ICON_192, ICON_512, MASKABLE_ICON];

/** The paths from here on are relative to the address of the page, such as `/dashboard`. */
export const MANIFEST_PATH = "dashboard/manifest.webmanifest";

/** The path of an icon in the colour of a machine. */
export const paintedPath = ({ name }: { readonly name: string }) =>
  `assets/${name.replace(/\.(?=\w+$)/, ".{{icon}}.")}`;

/**
 * Installs the page as an app. Each machine behind a relay is a separate app. The values of its
 * machine replace the places in braces. The background is `--bg` of the dark scheme.
 */
export const MANIFEST = JSON.stringify({
  name: "{{title}} · Agent Mesh",
  short_name: "{{title}}",
  description: "Peers, questions and messages of the coding agents on {{title}}",
  start_url: "../dashboard",
  scope: "../dashboard",
  display: "standalone",
  background_color: "#0e1216",
  theme_color: "{{colour}}",
  icons: [
    { src: paintedPath(ICON), type: ICON.type, sizes: "any" },
    { src: paintedPath(ICON_192), type: ICON_192.type, sizes: "192x192" },
    { src: paintedPath(ICON_512), type: ICON_512.type, sizes: "512x512" },
    {
      src: paintedPath(MASKABLE_ICON),
      type: MASKABLE_ICON.type,
      sizes: "512x512",
      purpose: "maskable",
    },
  ],
});

/** The worker keeps exactly these files; a build with other files is another worker. */
export const WORKER = `const FILES = ${
  JSON.stringify(
    PAGE_ASSETS.map(({ name }) => `assets/${name}`),
  )
};
${worker}`;

function asset(name: string, extension: string, type: string, content: Content): Asset {
  return { name: `${name}.${digestOf(content)}.${extension}`, type, content };
}

function moduleOf(name: string): string {
  const content = MODULES.get(name);
  if (content === undefined) throw new Error(`The dashboard has no module ${name}`);
  return content;
}

function toModule(name: string): Asset {
  return { name, type: SCRIPT_TYPE, content: moduleOf(name) };
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.fromBase64(base64);
}
