/** The picture of a recorded terminal. */

import assert from "node:assert/strict";
import { terminalSvg } from "../../support/documents/terminal_svg.ts";

const FRAMES = [
  { at_ms: 0, rows: ["$ mesh", ""] },
  { at_ms: 500, rows: ["$ mesh peers", "\x1b[0;2m\x1b[39mapi\x1b[0m  a <b>"] },
];
const SVG = terminalSvg(FRAMES, 1000, { columns: 20, rows: 2 });

Deno.test("a row is drawn once for each of its texts, and hidden while another is shown", () => {
  assert.match(SVG, /<g visibility="hidden"[^>]*><text [^>]*>\$ mesh<\/text><\/g>/);
  assert.match(SVG, /@keyframes k0\{0%\{visibility:visible\}50%\{visibility:hidden\}\}/);
  assert.match(SVG, /@keyframes k1\{0%\{visibility:hidden\}50%\{visibility:visible\}\}/);
});

Deno.test("words keep their column and colour, and no text is markup", () => {
  assert.match(SVG, /<text x="14" [^>]*class="dim">api<\/text>/);
  assert.match(SVG, /<text x="56" [^>]*>a &lt;b&gt;<\/text>/);
});
