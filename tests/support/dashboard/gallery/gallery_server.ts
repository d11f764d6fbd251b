/** Serves the gallery of components at `/dashboard`, with the page and the policy of the product. */

import { assetResponse, dashboardPage } from "../../../../dashboard/files/responses.ts";
import { bundle } from "../../../../packaging/parts.ts";

const SCRIPT = "/dashboard/assets/gallery.js";

/** Bundled once for all servers of a process. */
let script: ReturnType<typeof bundle> | undefined;

/** The address of the page; the server ends with `signal`. */
export async function serveGallery({ port, signal }: { port: number; signal?: AbortSignal }) {
  script ??= bundle(["dashboard/gallery/main.tsx"], "--platform", "browser");
  const source = await script;
  const product = await dashboardPage(new Request("http://localhost"), {
    daemon_id: "gallery",
    name: "gallery",
  });
  const { headers } = product;
  headers.delete("content-length");
  const page = (await product.text()).replace(
    /src="dashboard\/assets\/dashboard\.[^"]+"/,
    `src="${SCRIPT}"`,
  );
  const server = Deno.serve({
    port,
    hostname: "127.0.0.1",
    onListen: () => undefined,
    ...(signal && { signal }),
  }, (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === SCRIPT) {
      return new Response(source, { headers: { "content-type": "text/javascript" } });
    }
    if (pathname.startsWith("/dashboard/assets/")) return assetResponse(request);
    return new Response(page, { headers });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/dashboard#/components`,
    ended: server.finished,
  };
}
