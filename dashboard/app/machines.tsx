/** Behind a relay: the shown machine, the other machines, and the link to the relay. */

import type { ComponentChildren } from "preact";
import { Age, Dialog, Empty } from "../components/basics.tsx";
import { RELAYED } from "../state/calls.ts";
import {
  type Machine,
  machineLink,
  machineName,
  machines,
  OWN_ID,
  RELAY_PAGES,
} from "../state/relay.ts";
import { link, route } from "../state/router.ts";
import { checkSession } from "../state/session.ts";
import { overlay } from "./keys.ts";
import { viewOf } from "./views.ts";

/** A bar above the view; nothing on the daemon's own page. */
export function Machines() {
  if (!RELAYED) return null;
  return (
    <div class="machines row">
      <MachineSwitch>
        <span class="hint">Machine</span>
        <bdi class="who clip">{machineName.value ?? OWN_ID}</bdi>
      </MachineSwitch>
    </div>
  );
}

/** Opens the list of machines. */
export function MachineSwitch(
  { children, class: className = "quiet" }: { children: ComponentChildren; class?: string },
) {
  const show = () => {
    checkSession();
    overlay.value = "machines";
  };
  return (
    <button type="button" class={className} aria-haspopup="dialog" onClick={show}>
      {children}
      {namesakes() > 1 && <code class="hint clip">{OWN_ID}</code>}
      <span aria-hidden="true">▾</span>
    </button>
  );
}

/** The number of connected machines with the name of this machine. */
function namesakes(): number {
  return machines.value?.filter(({ machine }) => machine === machineName.value).length ?? 0;
}

export function Switcher({ close }: { close: () => void }) {
  const { view } = route.value;
  const known = machines.value ?? [];
  const missing = !known.some(({ daemon_id }) => daemon_id === OWN_ID);
  return (
    <Dialog title="Machines" close={close}>
      <ul class="machine-list stack">
        {missing && (
          <li>
            <span class="who">
              <bdi>{machineName.value ?? OWN_ID}</bdi>
            </span>
            <span class="hint">shown here; not connected to the relay</span>
          </li>
        )}
        {known.map((machine) => (
          <Row key={machine.daemon_id} machine={machine} view={viewOf(view) ? view : "attention"} />
        ))}
      </ul>
      <p class="hint">
        <a href={RELAY_PAGES.machines}>All machines, and signing out</a>
      </p>
    </Dialog>
  );
}

/** Records have other ids on another machine, so the link leads to the view as a whole. */
function Row({ machine, view }: { machine: Machine; view: string }) {
  const { daemon_id, machine: name, version, connected_at } = machine;
  const own = daemon_id === OWN_ID;
  const to = own ? link(view) : machineLink(machine, view === "peers" ? "mesh" : view);
  return (
    <li>
      <a href={to} class="who" aria-current={own ? "page" : undefined}>
        <bdi>{name}</bdi>
      </a>
      <span class="hint">
        {own && "shown here · "}
        <code>{daemon_id}</code> · version <bdi>{version}</bdi> · connected for{" "}
        <Age at={connected_at} />
      </span>
    </li>
  );
}

export function SignedOut() {
  return (
    <Empty title="You are signed out">
      <p>
        Nobody is signed in to the relay in this browser. A sign-in lasts a day, and ends when the
        relay restarts.
      </p>
      <a class="button" href={RELAY_PAGES.signIn}>Sign in</a>
    </Empty>
  );
}
