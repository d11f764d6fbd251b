/** Opens the window that starts an agent. It is above the mesh, and has its own address. */

import { Icon } from "../../components/icons/icon.tsx";
import { lazy } from "../../components/lazy.tsx";
import { filter, route } from "../../state/router.ts";

const SpawnDialog = lazy(() => import("../managing.ts").then((part) => part.SpawnDialog));

export function SpawnButton() {
  return (
    <button type="button" class="start-agent" onClick={() => filter({ new: "agent" })}>
      <Icon name="start" />Start an agent…
    </button>
  );
}

/** The window, if the address names it. */
export function SpawnWindow() {
  return route.value.query.get("new") === "agent" ? <SpawnDialog /> : null;
}
