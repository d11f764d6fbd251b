/** The frame of every view: navigation, for whom the page speaks, and the connection. */

import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useErrorBoundary } from "preact/hooks";
import { Age, Empty } from "../components/basics.tsx";
import { announced } from "../state/announce.ts";
import { demoRunning, endDemo } from "../state/demo.ts";
import { isPhone } from "../state/browser/phone.ts";
import { isConnected, machineName } from "../state/relay.ts";
import { link, route } from "../state/router.ts";
import { humanName, type SessionState, sessionState } from "../state/session.ts";
import {
  answerCount,
  attentionCount,
  livePeers,
  notice,
  peers,
  undoNotice,
} from "../state/store.ts";
import { connection, deviceOnline, lostAt, reopenNow } from "../state/stream.ts";
import { overlay } from "./keys.ts";
import { Machines, SignedOut } from "./machines.tsx";
import { Overlays } from "./palette.tsx";
import { MORE, More, TabBar, TopBar } from "./phone.tsx";
import { BusState, Connection, Speaker } from "./state.tsx";
import { preloadView, type View, viewOf, VIEWS } from "./views.ts";

export function Shell() {
  const { view, id } = route.value;
  const shown = viewOf(view);
  const component = view === MORE ? More : shown?.component;
  const count = answerCount.value;
  const title = view === MORE ? "More" : shown?.view.title ?? "Not found";
  const place = machineName.value ?? "Agent Mesh";
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ""}${title} · ${place}`;
  }, [count, title, place]);
  const phone = isPhone.value;
  const stale = connection.value === "down";
  return (
    <div class={`shell ${stale ? "stale" : ""}`}>
      <a class="skip" href="#main" onClick={skip}>Skip to the content</a>
      {phone ? <TopBar title={title} /> : <Side current={shown?.view} />}
      <div class="content">
        {!phone && <Machines />}
        <Banner />
        {demoRunning.value && <DemoBanner />}
        <main id="main" tabIndex={-1} aria-busy={connection.value === "connecting"}>
          {view !== "peers" && <h1 class={phone ? "unseen" : "view-title"}>{title}</h1>}
          <Boundary key={`${view}/${id}`}>
            <Content component={component} />
          </Boundary>
        </main>
      </div>
      {phone && <TabBar />}
      <Overlays />
      {notice.value.text !== "" && (
        <p class="notice row">
          <span aria-hidden="true">{notice.value.text}</span>
          {notice.value.undo && <button type="button" onClick={undoNotice}>Undo</button>}
        </p>
      )}
      <p class="unseen" role="status">{notice.value.text}</p>
      <p class="unseen" role="status">{announced.value}</p>
    </div>
  );
}

function Content({ component: Component }: { component: ComponentType | undefined }) {
  if (sessionState.value === "unknown" || sessionState.value === "ended") return <Locked />;
  if (sessionState.value === "signed_out") return <SignedOut />;
  return Component ? <Component /> : <NoView />;
}

function Side({ current }: { current: View | undefined }) {
  return (
    <aside class="side">
      <p class="brand">Agent Mesh</p>
      <nav aria-label="Views">
        <ul>
          {VIEWS.map((view) => (
            <li key={view.name}>
              <a
                class="row between"
                href={link(view.name)}
                aria-current={view === current ? "page" : undefined}
                onPointerEnter={() => preloadView(view.name)}
                onFocus={() => preloadView(view.name)}
              >
                {view.title}
                {view.name === "attention" && attentionCount.value > 0 && (
                  <span class="badge">{attentionCount.value}</span>
                )}
                {view.name === "mesh" && <span class="count">{onlineCount()}</span>}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="side-foot stack tight hint">
        <button type="button" class="quiet" onClick={() => void (overlay.value = "palette")}>
          Go to… <kbd>Ctrl K</kbd>
        </button>
        <button type="button" class="quiet" onClick={() => void (overlay.value = "keys")}>
          Keys <kbd>?</kbd>
        </button>
        <Speaker />
        <Connection />
        <BusState />
      </div>
    </aside>
  );
}

function onlineCount(): string {
  const all = livePeers.value;
  return `${all.filter(({ status }) => status !== "offline").length}/${all.length}`;
}

/** One line above the view: a problem, and how to solve it. */
function Banner() {
  if (sessionState.value === "unknown" || sessionState.value === "ended") return null;
  if (connection.value === "down" && lostAt.value !== undefined) {
    return (
      <p class="banner row between warn">
        <span>
          {!deviceOnline.value && <>This device has no network.{" "}</>}
          {isConnected() === false && (
            <>
              <bdi>{machineName.value ?? "This machine"}</bdi> is not connected to the relay.{" "}
            </>
          )}
          {peers.value.value === undefined
            ? <span role="alert">Disconnected. Nothing has been loaded yet.</span>
            : (
              <>
                <span role="alert">Disconnected</span> for{" "}
                <Age at={new Date(lostAt.value).toISOString()} />. What is shown may be older.
                Messages are kept by the daemon.
              </>
            )}
        </span>
        <button type="button" onClick={reopenNow}>Connect now</button>
      </p>
    );
  }
  const notice = NOTICES[sessionState.value];
  return notice ? <p class="banner row between">{notice(humanName.value ?? "")}</p> : null;
}

function DemoBanner() {
  return (
    <p class="banner row between">
      <span>
        This page plays two agents, <code>api</code> and{" "}
        <code>web</code>. They are removed when you leave it.
      </span>
      <button type="button" onClick={endDemo}>End the demo</button>
    </p>
  );
}

const NOTICES: Partial<Record<SessionState, (name: string) => ComponentChildren>> = {
  operator: (name) => (
    <span>
      What you send from this page does not count as{" "}
      <bdi>{name}</bdi>'s: it was not opened with a ticket. Run <code>mesh open</code>{" "}
      in a terminal to change that.
    </span>
  ),
  nobody: () => (
    <span>
      No human is registered. Run{" "}
      <code>mesh config set human.name YOU</code>, restart the daemon, then run{" "}
      <code>mesh open</code>.
    </span>
  ),
  refused: () => (
    <span role="alert">
      The ticket was already used, or is older than a minute. Run <code>mesh open</code> again.
    </span>
  ),
};

function Locked() {
  return (
    <Empty
      title={sessionState.value === "ended"
        ? "This browser is no longer signed in"
        : "The daemon does not accept this page"}
    >
      Run <code>mesh open</code> in a terminal of the user who runs the daemon.
    </Empty>
  );
}

function NoView() {
  return (
    <Empty title="There is no such page">
      <a href={link("attention")}>Go to Attention</a>
    </Empty>
  );
}

/** The address stays: its fragment is the view. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

/** An older daemon may leave out a field that a view needs. */
function Boundary({ children }: { children: ComponentChildren }) {
  const [error, reset] = useErrorBoundary();
  if (error === undefined || error === null) return <>{children}</>;
  return (
    <Empty title="This view is not available">
      <p>
        The page cannot show what the daemon sent. The daemon may have another version than the
        page.
      </p>
      <button type="button" onClick={reset}>Try again</button>
    </Empty>
  );
}
