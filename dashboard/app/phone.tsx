/** The frame on a phone: one bar above the view, four tabs below it, and the page More. */

import { Icon, type IconName } from "../components/icons/icon.tsx";
import { ThemeChoice } from "../components/theme_choice.tsx";
import { visible } from "../components/text/visible.tsx";
import { RELAYED } from "../state/calls.ts";
import { network } from "../state/network.ts";
import { shownMachine } from "../state/browser/own_machine.ts";
import { link, route } from "../state/router.ts";
import { attentionCount, livePeers } from "../state/store.ts";
import { connection } from "../state/stream.ts";
import { overlay } from "./keys.ts";
import { MachineSwitch } from "./machines.tsx";
import { BusState, Connection, Speaker } from "./state.tsx";
import { preloadView, VIEWS } from "./views.ts";

export const MORE = "more";
/** A larger number has no room in a tab. */
const COUNT_MAX = 99;

interface Tab {
  readonly name: string;
  readonly title: string;
  readonly icon: IconName;
}

const TABS: readonly Tab[] = [
  { name: "attention", title: "Attention", icon: "attention" },
  { name: "mesh", title: "Agents", icon: "agents" },
  { name: "jobs", title: "Jobs", icon: "jobs" },
  { name: MORE, title: "More", icon: "more" },
];

const REST_ICONS: Readonly<Record<string, IconName>> = {
  log: "log",
  asks: "asks",
  review: "changes",
  schedules: "schedules",
  usage: "usage",
  health: "health",
  relay: "relay",
  settings: "settings",
};

/** The tab that a view belongs to; a peer's page belongs to the agents. */
function tabOf(view: string): string {
  const name = view === "peers" ? "mesh" : view;
  return TABS.some((tab) => tab.name === name) ? name : MORE;
}

/** The tab's name of a view, where it has a tab. */
const titleOf = (view: string, title: string) =>
  tabOf(view) === MORE ? title : TABS.find(({ name }) => name === tabOf(view))?.title ?? title;

/** The view's title, its machine, and the connection; in a detail, the way back. */
export function TopBar({ title }: { title: string }) {
  const { view, id } = route.value;
  const tab = tabOf(view);
  const isBelow = id !== "" || (tab === MORE && view !== MORE);
  const above = id === "" ? MORE : view === "peers" ? "mesh" : view;
  const bus = network.value.value?.bus.status;
  const isBusLost = connection.value === "live" && (bus === "down" || bus === "connecting");
  return (
    <header class="top-bar row">
      {isBelow && (
        <a class="button quiet" href={link(above)} aria-label={`Back to ${backTo(above, title)}`}>
          <Icon name="back" />
        </a>
      )}
      <div class="grow">
        <span class="top-title clip" aria-hidden="true">{titleOf(view, title)}</span>
        <MachineLine />
      </div>
      {isBusLost ? <BusState /> : <Connection />}
      <button
        type="button"
        class="quiet"
        aria-label="Go to or do"
        onClick={() => void (overlay.value = "palette")}
      >
        <Icon name="search" />
      </button>
    </header>
  );
}

const backTo = (above: string, title: string) => above === MORE ? "More" : titleOf(above, title);

/** The mark has the colour of the machine's icon. Behind a relay, the line leads to others. */
function MachineLine() {
  const name = <bdi class="who clip">{visible(shownMachine.value)}</bdi>;
  return (
    <div class="top-machine row">
      <MachineMark />
      {RELAYED
        ? (
          <MachineSwitch>
            <span class="unseen">Machine</span>
            {name}
          </MachineSwitch>
        )
        : name}
      <Speaker />
    </div>
  );
}

/** The drawing of `dashboard/styles/icon.svg`. */
function MachineMark() {
  return (
    <svg class="machine-mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M8 22 16 9l8 13Z" />
    </svg>
  );
}

export function TabBar() {
  const { view } = route.value;
  const counts: Readonly<Record<string, readonly [count: number, meaning: string]>> = {
    attention: [attentionCount.value, "waiting for you"],
    mesh: [livePeers.value.filter(({ status }) => status !== "offline").length, "online"],
  };
  return (
    <nav class="tab-bar" aria-label="Views">
      {TABS.map(({ name, title, icon }) => {
        const [count = 0, meaning] = counts[name] ?? [];
        return (
          <a
            key={name}
            href={link(name)}
            aria-current={tabOf(view) === name ? "page" : undefined}
            onPointerEnter={() => preloadView(name)}
            onFocus={() => preloadView(name)}
          >
            <Icon name={icon} />
            {title}
            {count > 0 && (
              <span class={name === "attention" ? "badge" : "count"}>
                {count > COUNT_MAX ? `${COUNT_MAX}+` : count}
                <span class="unseen">{` ${meaning}`}</span>
              </span>
            )}
          </a>
        );
      })}
    </nav>
  );
}

/** The views without a tab, and what concerns this browser and its machine. */
export function More() {
  const rest = VIEWS.filter(({ name }) => tabOf(name) === MORE);
  return (
    <div class="more stack loose">
      <ul>
        {rest.map(({ name, title }) => (
          <li key={name}>
            <a class="row list-row" href={link(name)} data-row onFocus={() => preloadView(name)}>
              <Icon name={REST_ICONS[name] ?? "more"} />
              {title}
            </a>
          </li>
        ))}
        <li>
          <a class="row list-row" href={link("settings", "", { part: "devices" })} data-row>
            <Icon name="phone" />Devices
          </a>
        </li>
      </ul>
      <ul>
        {RELAYED && (
          <li>
            <MachineSwitch class="row list-row">
              <Icon name="machine" />Switch the machine
            </MachineSwitch>
          </li>
        )}
        <li>
          <button type="button" class="row list-row" onClick={() => void (overlay.value = "keys")}>
            <Icon name="more" />Keys
          </button>
        </li>
      </ul>
      <section aria-labelledby="theme">
        <h2 id="theme">Theme</h2>
        <ThemeChoice />
      </section>
    </div>
  );
}
