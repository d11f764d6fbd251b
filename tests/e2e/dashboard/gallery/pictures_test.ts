/** The look of the gallery, compared with the kept pictures. `deno task pictures` keeps a new look. */

import assert from "node:assert/strict";
import { join } from "node:path";
import {
  compare,
  KEPT,
  readKept,
  rendererOf,
  takePictures,
  writePictures,
} from "../../../support/dashboard/gallery/pictures.ts";
import { Browsers } from "../../../support/dashboard/shared_browser.ts";
import { print } from "../../../support/waiting.ts";

const DIFFERENCES = "dist/pictures";

/** A test with browsers that draw as the one of the kept pictures did. */
function pictureTest(name: string, run: (browsers: Browsers) => Promise<void>): void {
  Deno.test(name, async () => {
    await using browsers = await Browsers.open();
    if (!browsers) return print(`skipped: ${name} (no Chromium; install the package chromium)`);
    const here = await rendererOf(browsers);
    const kept = Deno.readTextFileSync(join(KEPT, "renderer.txt")).trim();
    if (here !== kept) {
      return print(`skipped: ${name} (the pictures are of ${kept}; this is ${here})`);
    }
    await run(browsers);
  });
}

pictureTest("the gallery looks as in the kept pictures", async (browsers) => {
  const expected = readKept();
  const found = await compare(browsers, expected, await takePictures(browsers, { expected }));
  writePictures(DIFFERENCES, new Map([...found].map(([name, { picture }]) => [name, picture])));
  const lines = [...found].map(([name, { difference }]) =>
    `${name} ${difference}: ${DIFFERENCES}/${name}.png`
  );
  assert.deepEqual(lines, [], "deno task pictures accepts the new look");
});

pictureTest("a change of one colour and of two pixels is seen, and where", async (browsers) => {
  const style = "section[aria-label=Controls] button.primary { background: #0b6e4f } " +
    "section[aria-label=States] h2 { padding-left: 2px }";
  const only = ["Controls", "States", "Markdown"];
  const taken = await takePictures(browsers, { style, only });
  const kept = new Map([...readKept()].filter(([name]) => taken.has(name)));
  const found = await compare(browsers, kept, taken);
  const kinds = ["desk-dark", "desk-light", "phone-dark", "phone-light"];
  const expected = kinds.flatMap((kind) => [`${kind}/controls`, `${kind}/states`]);
  assert.deepEqual([...found.keys()].toSorted(), expected);
  for (const { difference } of found.values()) assert.match(difference, /^differs in \d+ pixels$/);
});
