/** The views of the navigation, with their keys. */

import type { ComponentType } from "preact";
import { lazy } from "../components/lazy.tsx";
import { preload } from "../state/parts.ts";
import { Attention } from "../views/attention.tsx";
import type * as managing from "../views/managing.ts";
import { Mesh } from "../views/mesh.tsx";
import type * as reading from "../views/reading.ts";

/** Files with the code of several views. */
interface Files {
  readonly reading: typeof reading;
  readonly managing: typeof managing;
}
type FileName = keyof Files;

const FILES: { readonly [F in FileName]: () => Promise<Files[F]> } = {
  reading: () => import("../views/reading.ts"),
  managing: () => import("../views/managing.ts"),
};

/** The file of the peers' pages, which are not a view of the navigation. */
const PEER_FILE = "reading";
const PeerView = lazy(async () => (await FILES[PEER_FILE]()).PeerView);

export interface View {
  readonly name: string;
  readonly title: string;
  /** After `g`. */
  readonly key: string;
  /** Absent if the page always has the code of this view. */
  readonly file?: FileName;
  readonly component: ComponentType;
}

/** A view whose code is in a separate file; `pick` takes its component from there. */
function later<F extends FileName>(
  [name, title, key]: readonly [name: string, title: string, key: string],
  file: F,
  pick: (views: Files[F]) => ComponentType,
): View {
  return { name, title, key, file, component: lazy(async () => pick(await FILES[file]())) };
}

export const VIEWS: readonly View[] = [
  { name: "attention", title: "Attention", key: "a", component: Attention },
  { name: "mesh", title: "Mesh", key: "p", component: Mesh },
  later(["log", "Log", "l"], "reading", ({ Log }) => Log),
  later(["asks", "Asks", "q"], "reading", ({ Asks }) => Asks),
  later(["jobs", "Jobs", "j"], "managing", ({ Jobs }) => Jobs),
  later(["review", "Review", "v"], "managing", ({ Review }) => Review),
  later(["schedules", "Schedules", "s"], "managing", ({ Schedules }) => Schedules),
  later(["usage", "Usage", "u"], "managing", ({ Usage }) => Usage),
  later(["health", "Health", "h"], "managing", ({ Health }) => Health),
  later(["relay", "Relay", "r"], "managing", ({ Relay }) => Relay),
  later(["settings", "Settings", ","], "managing", ({ Settings }) => Settings),
];

/** The view with this name in an address. In the navigation, a peer's page belongs to the mesh. */
export function viewOf(name: string): { view: View; component: ComponentType } | undefined {
  const view = VIEWS.find((view) => view.name === (name === "peers" ? "mesh" : name));
  return view && { view, component: name === "peers" ? PeerView : view.component };
}

/** Begins to load the code of a view, before the view is drawn. */
export function preloadView(name: string): void {
  const file = name === "peers" ? PEER_FILE : viewOf(name)?.view.file;
  if (file) preload(file);
}

/** Loads the code of the views that read, so that each opens at once. Others are opened less. */
export async function loadViews(): Promise<void> {
  await FILES[PEER_FILE]();
}
