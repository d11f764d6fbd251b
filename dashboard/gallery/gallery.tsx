/** The gallery: a section for each component. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import {
  Act,
  Age,
  Choices,
  Clock,
  Dialog,
  Empty,
  Failed,
  ResourceView,
  State,
} from "../components/basics.tsx";
import { BudgetList } from "../components/notes/budget_lines.tsx";
import { Subagents } from "../components/children.tsx";
import { ChangesView } from "../components/changes.tsx";
import { LineChart } from "../components/chart.tsx";
import { NextFires } from "../components/time/fires.tsx";
import { Copy } from "../components/copy.tsx";
import { Diff } from "../components/diff.tsx";
import {
  AGENT_MARKS,
  type IconName,
  ICONS,
  type Shape,
  SHAPES,
} from "../components/icons/drawings.ts";
import { AgentMark, Icon, StateShape } from "../components/icons/icon.tsx";
import { Markdown } from "../components/markdown.tsx";
import { Bubble, PeerLink } from "../components/message.tsx";
import { emptyWhen, WhenFields } from "../components/time/when_fields.tsx";
import { Stages } from "../components/trace.tsx";
import { FileUseList } from "../views/holdings/file_uses.tsx";
import { Steps } from "../views/holdings/line_origin.tsx";
import { LeaseList } from "../views/holdings/lease_list.tsx";
import { OverlapList } from "../views/holdings/overlaps.tsx";
import { PortUseList } from "../views/holdings/port_uses.tsx";
import { DigestSections } from "../views/log/digest.tsx";
import { PeerList } from "../views/mesh/peer_card.tsx";
import { WaitNote } from "../components/notes/wait_note.tsx";
import { OtherMachineGroup } from "../views/machines/other_machine.tsx";
import { OwnMachineGroup } from "../views/machines/own_machine.tsx";
import { LimitList } from "../views/limits.tsx";
import { Report } from "../views/usage.tsx";
import { BUDGETS, DIGEST, FILES, LEASES, ORIGIN_STEPS, OVERLAPS, PORTS } from "./holdings.ts";
import { PROOFS } from "./proofs.ts";
import { ProofView } from "../components/notes/proof.tsx";
import { LANDINGS } from "./landing.ts";
import { LandingOrder } from "../views/review/landing.tsx";
import { LIMITS } from "./limits.ts";
import { CHANGES } from "./changes.ts";
import { ActView, useSight } from "../views/attention/act_view.tsx";
import { BUSES, GROUPS, SLEEPERS, WAITING_MESSAGES } from "./machines.ts";
import {
  CHILDREN,
  DIFFS,
  MARKDOWN,
  MESSAGES,
  PERMISSIONS,
  RESOURCES,
  sampleChart,
  STAGES,
  STATES,
  USAGE,
  WAITS,
} from "./samples.ts";

const MINUTE_MS = 60_000;
const CHART = sampleChart();
const COLOURS = [
  ...["--bg", "--surface", "--raised", "--line", "--line-strong", "--text", "--muted", "--link"],
  ...["--accent", "--good", "--busy", "--warn", "--bad", "--warn-surface", "--bad-surface"],
];

const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

export function Gallery() {
  return (
    <main id="main" class="gallery column stack loose">
      <h1 class="view-title">Components</h1>
      <Texts />
      <Icons />
      <Controls />
      <LoadStates />
      <Part name="Markdown">
        <Markdown text={MARKDOWN} />
      </Part>
      <Part name="Changes of files">
        {DIFFS.map((file) => <Diff key={file.path} file={file} />)}
      </Part>
      <Part name="Permissions">
        {PERMISSIONS.map((ask) => <Permission key={ask.text} ask={ask} />)}
      </Part>
      <Part name="Changes of a folder">
        {CHANGES.map((changes) => (
          <ChangesView
            key={changes.state}
            changes={changes}
            id="sample"
            loadFile={() => Promise.resolve(undefined)}
            refresh={() => {}}
          />
        ))}
      </Part>
      <Part name="Messages">
        <ul class="bubbles stack">
          {MESSAGES.map((message, index) => (
            <Bubble key={message.delivery_id} message={message} to_peer={index === 0} />
          ))}
        </ul>
      </Part>
      <Part name="Subagents">
        <Subagents {...CHILDREN} />
      </Part>
      <Part name="Waits">
        {WAITS.map((peer) => <WaitNote key={peer.waits_for.kind} peer={peer} />)}
      </Part>
      <Part name="Checked answers">
        {PROOFS.map((proof) => <ProofView key={proof.state} proof={proof} />)}
      </Part>
      <Part name="Trace">
        <Stages trace={{ stages: STAGES }} />
      </Part>
      <Machines />
      <Holdings />
      <Part name="Charts">
        <LineChart title="Time" data={CHART} format={(ms) => `${Math.round(ms)} ms`} wide />
      </Part>
      <Costs />
      <Times />
    </main>
  );
}

function Holdings() {
  return (
    <>
      <Part name="Leases and ports">
        <LeaseList leases={LEASES} />
        {PORTS.map((port) => <PortUseList key={port.port} answer={port} />)}
      </Part>
      <Part name="Uses of files">
        {FILES.map((file) => <FileUseList key={file.path} answer={file} />)}
        <OverlapList events={OVERLAPS} />
      </Part>
      <Part name="Where a line came from">
        <Steps steps={ORIGIN_STEPS} />
      </Part>
      <Part name="Order of landing">
        {LANDINGS.map((found, index) => <LandingOrder key={index} found={found} />)}
      </Part>
      <Part name="Digest">
        <DigestSections digest={DIGEST} />
      </Part>
      <Part name="Sleeping peers">
        <PeerList peers={SLEEPERS} dense={false} />
      </Part>
    </>
  );
}

function Costs() {
  return (
    <>
      <Part name="Usage">
        <Report report={USAGE} />
      </Part>
      <Part name="Limits">
        <LimitList limits={LIMITS} refresh={() => undefined} />
      </Part>
      <Part name="Budgets">
        <BudgetList budgets={BUDGETS} of="peer-1" />
      </Part>
      <Part name="Usage without tokens and prices">
        <Report report={{ ...USAGE, rows: [], prices: null, left_out: [] }} />
      </Part>
    </>
  );
}

function Permission({ ask }: { ask: typeof PERMISSIONS[number] }) {
  const { act } = ask.question;
  const sight = useSight(act);
  return (
    <>
      <h3 class="title">{act.title}</h3>
      <ActView ask={ask} act={act} sight={sight} />
    </>
  );
}

function Part({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <section class="card" aria-label={name}>
      <h2>{name}</h2>
      {children}
    </section>
  );
}

function Texts() {
  return (
    <>
      <Part name="Colours">
        <ul class="cluster">
          {COLOURS.map((name) => (
            <li key={name}>
              <svg class="icon" viewBox="0 0 10 10" aria-hidden="true">
                <rect width="10" height="10" fill={`var(${name})`} stroke="var(--line)" />
              </svg>{" "}
              <code>{name}</code>
            </li>
          ))}
        </ul>
      </Part>
      <Part name="States">
        {STATES.map((states) => (
          <p key={states[0]} class="cluster">
            {states.map((state) => <State key={state} of={state} />)}
          </p>
        ))}
      </Part>
      <Part name="Names, ages and times">
        <p class="cluster">
          <PeerLink id="peer-1" name="a peer" />
          <PeerLink id={null} name="nobody's link" />
          <span class="chip">circle</span>
          <Age at={ago(42_000)} suffix=" ago" />
          <Age at={ago(-90 * MINUTE_MS)} future />
          <Clock at={ago(0)} />
        </p>
      </Part>
    </>
  );
}

const ICON_NAMES = Object.keys(ICONS) as IconName[];
const SHAPE_NAMES = Object.keys(SHAPES) as Shape[];

function Icons() {
  return (
    <Part name="Icons">
      <p class="cluster">
        {ICON_NAMES.map((name) => (
          <span key={name}>
            <Icon name={name} /> {name}
          </span>
        ))}
      </p>
      <p class="cluster">
        {Object.keys(AGENT_MARKS).map((name) => (
          <span key={name}>
            <AgentMark backend={name} /> {name}
          </span>
        ))}
        <span>
          <AgentMark backend={null} is_person /> a person
        </span>
      </p>
      <p class="cluster">
        {SHAPE_NAMES.map((shape) => (
          <span key={shape}>
            <StateShape shape={shape} /> {shape}
          </span>
        ))}
      </p>
    </Part>
  );
}

function Controls() {
  const [chosen, choose] = useState("one");
  const [open, setOpen] = useState(false);
  const fail = () => Promise.reject(new Error("The daemon refused it, and said why."));
  return (
    <Part name="Controls">
      <p class="cluster">
        <button type="button" class="primary">Primary</button>
        <button type="button">Plain</button>
        <button type="button" class="danger">Dangerous</button>
        <button type="button" class="quiet">Quiet</button>
        <button type="button" disabled>Disabled</button>
        <Copy text="copied" />
        <button type="button" onClick={() => setOpen(true)}>A window</button>
      </p>
      <Choices
        label="Choices"
        chosen={chosen}
        choose={choose}
        options={[["one", "One"], ["two", "Two"], ["three", "Three"]]}
      />
      <p class="cluster">
        <Act run={() => Promise.resolve()} confirm="What will be lost.">Act that asks first</Act>
        <Act run={fail}>Act that fails</Act>
      </p>
      <label>
        Field <input placeholder="A placeholder" />
      </label>
      {open && (
        <Dialog title="A window" close={() => setOpen(false)}>
          <p>It holds the focus until it is closed.</p>
        </Dialog>
      )}
    </Part>
  );
}

function LoadStates() {
  return (
    <Part name="Loading, empty, failed, stale">
      <ResourceView resource={RESOURCES.loading}>{(text) => text}</ResourceView>
      <Empty title="Nothing is here">What to do next.</Empty>
      <Failed error={new Error("What happened, and what to do.")} />
      <ResourceView resource={RESOURCES.failed}>{(text) => text}</ResourceView>
      <ResourceView resource={RESOURCES.stale}>{(text) => <p>{text}</p>}</ResourceView>
    </Part>
  );
}

const UNFILTERED = { above: [], dense: false, is_filtered: false };

/** Each state of the bus, and of another machine. */
function Machines() {
  return (
    <Part name="Machines">
      {BUSES.map((bus) => <OwnMachineGroup key={bus.name} bus={bus} peers={[]} {...UNFILTERED} />)}
      {GROUPS.map((group) => (
        <OtherMachineGroup
          key={group.daemon_id}
          group={group}
          messages={WAITING_MESSAGES}
          above={[]}
          dense={false}
          is_unfolded={false}
        />
      ))}
    </Part>
  );
}

function Times() {
  const [when, setWhen] = useState(() => emptyWhen("recurring"));
  return (
    <>
      <Part name="When something is to happen">
        <WhenFields when={when} change={setWhen} modes={["now", "in", "at", "recurring"]} />
      </Part>
      <Part name="The next times">
        <NextFires cron="0 3 * * *" timezone="Asia/Tokyo" />
      </Part>
    </>
  );
}
