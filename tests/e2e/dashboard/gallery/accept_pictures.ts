/** Keeps the present look of the gallery, with which later ones are compared: `deno task pictures`. */

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

await using browsers = await Browsers.open();
if (!browsers) throw new Error("No Chromium: install the package chromium");
Deno.mkdirSync(KEPT, { recursive: true });
const taken = await takePictures(browsers);
const changed = await compare(browsers, readKept(), taken);
for (const [name, { difference }] of changed) print(`${name} ${difference}`);
Deno.removeSync(KEPT, { recursive: true });
writePictures(KEPT, taken);
Deno.writeTextFileSync(join(KEPT, "renderer.txt"), `${await rendererOf(browsers)}\n`);
print(`${taken.size} pictures are kept, of which ${changed.size} look different`);
