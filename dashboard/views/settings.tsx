/** Settings: of this browser, and the daemon's configuration in force, read only. */

import { useState } from "preact/hooks";
import { Act, Choices, Empty, Fact, ResourceView } from "../components/basics.tsx";
import { Copy } from "../components/copy.tsx";
import { ThemeChoice } from "../components/theme_choice.tsx";
import { type Alerts, alerts, switchOff, switchOn } from "../state/browser/alerts.ts";
import { call, RELAYED } from "../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { install, installState } from "../state/browser/install.ts";
import { offline } from "../state/browser/offline.ts";
import type { Setting } from "../state/records.ts";
import { useResource } from "../state/resource.ts";
import { filter, route } from "../state/router.ts";
import { humanName, sessionState, signOut } from "../state/session.ts";
import { Devices } from "./settings/devices.tsx";
import { PushSettings } from "./settings/push.tsx";
import { commandText, valueText } from "./setting_text.ts";

export function Settings() {
  return (
    <div class="stack loose">
      <section class="card" aria-labelledby="browser">
        <h2 id="browser">This browser</h2>
        <dl class="facts browser-facts">
          <Fact name="Notifications">
            <Notifications />
          </Fact>
          <Fact name="App">
            <Install />
          </Fact>
          <Fact name="Theme">
            <ThemeChoice />
          </Fact>
          <Fact name="Without a connection">{offlineText()}</Fact>
          {!RELAYED && sessionState.value === "human" && (
            <Fact name="Signed in">
              <SignOut />
            </Fact>
          )}
        </dl>
      </section>
      <PushSettings />
      <Devices />
      <Configuration />
    </div>
  );
}

function SignOut() {
  return (
    <span class="cluster">
      <span>
        As <bdi>{humanName.value}</bdi>, for 30 days from the last <code>mesh open</code>.
      </span>
      <Act
        run={signOut}
        confirm="All pages of this browser end. Run “mesh open” in a terminal to open one again."
      >
        Sign out
      </Act>
    </span>
  );
}

const ALERT_TEXTS: Readonly<Record<Alerts, string>> = {
  unsupported: "This browser shows no notifications for this page.",
  blocked: "Blocked for this page in the settings of the browser.",
  off: "Off.",
  on: "On: while this page is open in the background, it shows new items that wait for you.",
};

function Notifications() {
  const state = alerts.value;
  return (
    <>
      <span role="status">{ALERT_TEXTS[state]}</span>
      {state === "off" && <button type="button" onClick={switchOn}>Switch on</button>}
      {state === "on" && <button type="button" onClick={switchOff}>Switch off</button>}
    </>
  );
}

function Install() {
  switch (installState()) {
    case "installed":
      return <span>Installed.</span>;
    case "offered":
      return <button type="button" onClick={install}>Install</button>;
    case "not_offered":
      return (
        <span>
          This browser has not offered to install the page. Its menu may have “Install” or “Add to
          Home Screen”{RELAYED ? "." : ". A phone needs the HTTPS address of a relay."}
        </span>
      );
  }
}

function offlineText(): string {
  const state = offline.value;
  if (state === "asking") return "Being set up.";
  return state === "ready"
    ? "The page opens, and shows data again once it is connected."
    : `The page does not open: ${state.reason}.`;
}

function Configuration() {
  const resource = useResource("config", [], () => call(at.getConfig, {}), { kept: true });
  return (
    <section class="stack loose" aria-labelledby="configuration">
      <header class="cluster">
        <h2 id="configuration">Configuration of the daemon</h2>
      </header>
      <ResourceView resource={resource}>
        {({ path, settings }) => (
          <>
            <p class="hint">
              Read at the daemon's start from <code>{path}</code>{" "}
              and the environment, which overrides the file. A change counts after a restart of the
              daemon.
            </p>
            <Table settings={settings} />
          </>
        )}
      </ResourceView>
    </section>
  );
}

function Table({ settings }: { settings: readonly Setting[] }) {
  const given = route.value.query.get("source") === "given";
  const [word, setWord] = useState("");
  const found = settings.filter(({ key, source }) =>
    (!given || source !== "default") && key.includes(word.trim().toLowerCase())
  );
  return (
    <>
      <div class="toolbar">
        <input
          type="search"
          aria-label="Find a setting"
          placeholder="Find a setting…"
          data-search
          value={word}
          onInput={(event) => setWord(event.currentTarget.value)}
        />
        <Choices
          label="Settings"
          chosen={given ? "given" : "all"}
          choose={(chosen) => filter({ source: chosen === "given" ? "given" : "" })}
          options={[["all", "All"], ["given", "Without defaults"]]}
        />
      </div>
      {found.length === 0 && (
        <Empty title={word ? "No setting has this name" : "Every setting has its default"} />
      )}
      <ul class="settings card">
        {found.map((setting) => <Row key={setting.key} setting={setting} />)}
      </ul>
    </>
  );
}

function Row({ setting }: { setting: Setting }) {
  const { key, source, origin, form, is_set } = setting;
  const command = commandText(setting);
  return (
    <li class="row list-row" data-row tabIndex={-1}>
      <code class="setting-key">{key}</code>
      <span class={is_set ? "setting-value" : "setting-value hint"}>
        <bdi>{valueText(setting)}</bdi>
        {form === "hidden" && is_set && <span class="hint">value not shown</span>}
      </span>
      <span class={`setting-source stack tight hint ${source}`}>
        {source}
        {source === "environment" && <code class="hint">{origin}</code>}
      </span>
      <span class="setting-command hint row between">
        <code>{command}</code>
        <Copy text={command} />
      </span>
    </li>
  );
}
