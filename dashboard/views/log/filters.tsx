/** The filters of the log: fields, saved searches, and peers whose names a search contains. */

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { SearchField } from "../../components/act/search_field.tsx";
import { Icon } from "../../components/icons/icon.tsx";
import { visible } from "../../components/text/visible.tsx";
import { keepText, readKept } from "../../state/browser/storage.ts";
import { filter, link } from "../../state/router.ts";
import { livePeers } from "../../state/store.ts";
import {
  FILTERS,
  type Filters,
  isFiltered,
  namesIn,
  readSearches,
  titleOf,
  withSearch,
} from "./search.ts";

const KINDS = ["ask", "notify", "broadcast", "ack", "inbox_item"];
const STATES = [
  ["open", "ask open"],
  ["closed", "ask closed"],
  ...["queued", "attempting", "sent", "accepted", "seen", "failed", "expired", "dropped"]
    .map((state) => [state, state] as const),
] as const;

/** The filters that are folded at first. */
const MORE = ["from", "to", "since", "until", "circle", "kind", "state"] as const;

const SAVED = "mesh-searches";
const saved = signal<readonly Filters[]>(readSearches(readKept(SAVED)));

function save(searches: readonly Filters[]): void {
  saved.value = searches;
  keepText(SAVED, JSON.stringify(searches));
}

export function LogFilters({ filters }: { filters: Filters }) {
  const set = (name: keyof Filters) => (value: string) => filter({ [name]: value });
  const isKept = saved.value.some((search) => titleOf(search) === titleOf(filters));
  return (
    <search aria-label="Filter the log">
      <div class="toolbar log-tools">
        <SearchField
          label="Search all messages"
          placeholder='Search all messages: words, "a phrase", prefix*'
          value={filters.q}
          search={set("q")}
        />
        <PeerField label="Sender or recipient" name="peer" filters={filters} />
        {isFiltered(filters) && (
          <>
            {!isKept && (
              <button
                type="button"
                class="quiet"
                onClick={() => save(withSearch(saved.value, filters))}
              >
                Save this search
              </button>
            )}
            <button
              type="button"
              class="quiet"
              onClick={() => filter(Object.fromEntries(FILTERS.map((name) => [name, ""])))}
            >
              Clear
            </button>
          </>
        )}
      </div>
      <details class="log-more" open={MORE.some((name) => filters[name] !== "")}>
        <summary>More filters</summary>
        <MoreFilters filters={filters} />
      </details>
      <datalist id="log-peers">
        {livePeers.value.map(({ peer_id, name }) => <option key={peer_id} value={name} />)}
      </datalist>
      <Named filters={filters} />
      <Saved />
    </search>
  );
}

function MoreFilters({ filters }: { filters: Filters }) {
  const circles = [...new Set(livePeers.value.map(({ circle }) => circle))].sort();
  return (
    <div class="toolbar log-tools">
      <PeerField label="From" name="from" filters={filters} />
      <PeerField label="To" name="to" filters={filters} />
      <DateField label="Since" name="since" filters={filters} />
      <DateField label="Until" name="until" filters={filters} />
      <Select label="Circle" name="circle" all="all circles" filters={filters}>
        {circles.map((circle) => <option key={circle} value={circle}>{circle}</option>)}
      </Select>
      <Select label="Kind" name="kind" all="all kinds" filters={filters}>
        {KINDS.map((kind) => <option key={kind} value={kind}>{kind.replace("_", " ")}</option>)}
      </Select>
      <Select label="State" name="state" all="all states" filters={filters}>
        {STATES.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </Select>
    </div>
  );
}

interface FieldProps {
  readonly label: string;
  readonly name: keyof Filters;
  readonly filters: Filters;
}

function PeerField({ label, name, filters }: FieldProps) {
  return (
    <SearchField
      class="narrow"
      label={label}
      placeholder={name}
      list="log-peers"
      is_main={false}
      value={filters[name]}
      search={(value) => filter({ [name]: value })}
    />
  );
}

function DateField({ label, name, filters }: FieldProps) {
  return (
    <label class="date">
      {label}{" "}
      <input
        type="date"
        value={filters[name]}
        onChange={(event) => filter({ [name]: event.currentTarget.value })}
      />
    </label>
  );
}

function Select(
  { label, name, filters, all, children }: FieldProps & {
    readonly all: string;
    readonly children: ComponentChildren;
  },
) {
  return (
    <select
      class="narrow"
      aria-label={label}
      value={filters[name]}
      onChange={(event) => filter({ [name]: event.currentTarget.value })}
    >
      <option value="">{all}</option>
      {children}
    </select>
  );
}

/** Peers whose names the search contains: their messages need not contain the name. */
function Named({ filters }: { filters: Filters }) {
  const named = namesIn(filters.q, livePeers.value.map(({ name }) => name))
    .filter((name) => name !== filters.peer);
  if (named.length === 0) return null;
  return (
    <p class="hint chips cluster">
      All messages from or to: {named.map((name) => (
        <button
          key={name}
          type="button"
          onClick={() => filter({ peer: name, q: "" })}
        >
          <bdi>{visible(name)}</bdi>
        </button>
      ))}
    </p>
  );
}

function Saved() {
  if (saved.value.length === 0) return null;
  return (
    <ul class="chips cluster" aria-label="Saved searches">
      {saved.value.map((search) => {
        const title = titleOf(search);
        return (
          <li key={title}>
            <a href={link("log", "", search)}>
              <bdi>{visible(title)}</bdi>
            </a>
            <button
              type="button"
              class="quiet"
              aria-label={`Forget the search ${title}`}
              onClick={() => save(saved.value.filter((other) => other !== search))}
            >
              <Icon name="close" />
            </button>
          </li>
        );
      })}
    </ul>
  );
}
