/** Parts of the page in separate files, loaded on demand. */

/**
 * A function that loads a part once. If loading failed, for example without a connection, the part
 * can be requested again.
 */
export function part<T>(name: string): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () =>
    loading ??= importPart<T>(name).catch((error) => {
      loading = undefined;
      throw error;
    });
}

/** The page names a part's address in a `meta` element: its name changes with its content. */
async function importPart<T>(name: string): Promise<T> {
  const meta = document.querySelector<HTMLMetaElement>(`meta[name="mesh-part-${name}"]`);
  if (!meta) throw new Error(`This page has no part "${name}". Reload it.`);
  try {
    return await import(new URL(meta.content, document.baseURI).href);
  } catch {
    throw new Error("A file of this page could not be loaded. Reload the page.");
  }
}

const preloaded = new Set<string>();

/**
 * Begins to load modules that are imported soon. The page names them in a `meta` element, because
 * the browser knows a module's own imports only after it has arrived.
 */
export function preload(name: string): void {
  if (preloaded.has(name)) return;
  preloaded.add(name);
  const meta = document.querySelector<HTMLMetaElement>(`meta[name="mesh-modules-${name}"]`);
  for (const path of meta?.content.split(" ") ?? []) {
    const link = document.createElement("link");
    link.rel = "modulepreload";
    link.href = path;
    document.head.append(link);
  }
}
