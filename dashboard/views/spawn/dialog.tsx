/** Starts an agent: folder, kind, profile, name, circle, first message, and what would run. */

import { useRef, useState } from "preact/hooks";
import { Choices, Dialog, ResourceView } from "../../components/basics.tsx";
import { OptionalText, SelectField } from "../../components/fields.tsx";
import { ActionWindow, CommandLine, useAct } from "../../components/window.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { SpawnConfig } from "../../state/records.ts";
import { refreshTopics, useResource } from "../../state/resource.ts";
import { filter } from "../../state/router.ts";
import { humanName } from "../../state/session.ts";
import { livePeers } from "../../state/store.ts";
import { CannotStart } from "./cannot_start.tsx";
import { AgentChoice, type AgentKind, backendsOf, commandOf } from "./choices.tsx";
import { FolderInput } from "./folder_input.tsx";
import { NameAndCircle, type Names } from "./naming.tsx";
import { SpawnedAgent } from "./spawned.tsx";

const TITLE = "Start an agent";

/** The window is above the mesh, and has its own address: `#/mesh?new=agent`. */
export function SpawnDialog() {
  const close = () => filter({ new: "" });
  const config = useResource("spawn config", [], () => call(at.spawnConfig, {}));
  const found = config.value.value;
  if (found?.enabled) return <Form config={found} close={close} />;
  return (
    <Dialog title={TITLE} close={close}>
      <ResourceView resource={config}>
        {(settings) => <CannotStart config={settings} />}
      </ResourceView>
    </Dialog>
  );
}

interface Wish extends Names, AgentKind {
  readonly path: string;
  readonly role: "agent" | "orchestrator";
  readonly message: string;
  /** The peer in whose window the new pane is opened. */
  readonly beside: string;
}

function useSpawn(wish: Wish) {
  /** Kept while the request stays the same, so that a second try cannot start two agents. */
  const attempt = useRef({ wish: "", key: "" });
  return useAct(async () => {
    const { path, backend, profile, name, circle, role, message, beside } = wish;
    if (!backend) return undefined;
    const text = JSON.stringify(wish);
    if (attempt.current.wish !== text) attempt.current = { wish: text, key: crypto.randomUUID() };
    const source = livePeers.value.find(({ peer_id }) => peer_id === beside);
    const body = {
      path: path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path,
      backend,
      role,
      ...(profile !== "" && { profile }),
      ...(name !== "" && { name }),
      ...(circle !== "" && { circle }),
      ...(message.trim() !== "" && { message }),
      ...(humanName.value !== null && { from_peer: humanName.value }),
      ...(source?.pane_id && { source_pane: source.pane_id }),
    };
    const query = source?.tmux_socket ? { tmux_socket: source.tmux_socket } : {};
    const headers = { "idempotency-key": attempt.current.key };
    return await call(at.spawnPeer, { query, body, headers });
  }, () => refreshTopics(["peers"]));
}

function Form({ config, close }: { config: SpawnConfig; close: () => void }) {
  const beside = config.circle_boundary === "window" ? panedPeers()[0]?.peer_id ?? "" : "";
  const [wish, setWish] = useState<Wish>({
    path: startFolder(config),
    backend: backendsOf(config)[0],
    profile: "",
    name: "",
    circle: "",
    role: "agent",
    message: "",
    beside,
  });
  const change = (part: Partial<Wish>) => setWish({ ...wish, ...part });
  const { act, result, ...state } = useSpawn(wish);
  return (
    <ActionWindow
      title={TITLE}
      label="Start it"
      close={close}
      done={result !== undefined}
      act={act}
      disabled={wish.path.trim() === ""}
      {...state}
    >
      {result
        ? <SpawnedAgent spawned={result} />
        : <Fields config={config} wish={wish} change={change} />}
    </ActionWindow>
  );
}

/** With a slash at its end, so that the field offers its folders. */
function startFolder({ allowed_paths: [first = ""] }: SpawnConfig): string {
  return first === "" || first.endsWith("/") ? first : `${first}/`;
}

interface Part {
  wish: Wish;
  change: (part: Partial<Wish>) => void;
}

function Fields({ config, wish, change }: Part & { config: SpawnConfig }) {
  const { path, backend, role } = wish;
  return (
    <>
      <FolderInput value={path} change={(next) => change({ path: next })} />
      <AgentChoice config={config} chosen={wish} change={change} />
      <NameAndCircle names={wish} change={change} circle_hint="default" />
      <Choices
        label="Role"
        chosen={role}
        choose={(next) => change({ role: next })}
        options={[["agent", "Agent"], ["orchestrator", "Orchestrator"]]}
      />
      {config.circle_boundary === "window" && <Beside wish={wish} change={change} />}
      <OptionalText
        label="First message"
        when="; sent once it registers"
        rows={3}
        value={wish.message}
        change={(message) => change({ message })}
      />
      {backend && (
        <section>
          <p class="hint">
            Runs in <bdi>{visible(path || "the folder")}</bdi>:
          </p>
          <CommandLine argv={commandOf(config, backend, wish.profile)} />
        </section>
      )}
    </>
  );
}

function panedPeers() {
  return livePeers.value.filter(({ terminal, status }) =>
    terminal === "tmux" && status !== "offline"
  );
}

/** The new pane needs a window if circles are tmux windows. */
function Beside({ wish, change }: Part) {
  const peers = panedPeers();
  if (peers.length === 0) {
    return (
      <p class="reason">
        A circle is a tmux window here, and no peer runs in one. Run <code>mesh spawn</code>{" "}
        in a tmux window instead.
      </p>
    );
  }
  return (
    <SelectField
      label="In the window of"
      value={wish.beside}
      options={peers.map(({ peer_id, name, circle }) => [peer_id, `${name} (${circle})`] as const)}
      choose={(next) => change({ beside: next })}
    />
  );
}
