/** Shows the gallery of components until it is interrupted: `deno task components [PORT]`. */

import { serveGallery } from "../../../support/dashboard/gallery/gallery_server.ts";
import { print } from "../../../support/waiting.ts";

const { url, ended } = await serveGallery({ port: Number(Deno.args[0] ?? 0) });
print(url);
await ended;
