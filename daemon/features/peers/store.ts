/** SQL of peers: one statement per function, without rules. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { idsOf } from "../../data/short_ids.ts";
import { type Reader, rememberLast, rowOf, tableOf, type Tx } from "kit/data/sqlite.ts";
import type { Params } from "kit/data/statements.ts";
import { Address, Peer, ROLES_OF_ALL_CIRCLES } from "protocol/peers/record.ts";

/** A stored peer: the record without its computed fields, and with internal ones. */
export const StoredPeer = Peer.omit({
  display_name: true,
  daemon_id: true,
  terminal: true,
  parent_peer_id: true,
  transport: true,
  ws_connected: true,
  inbound_status: true,
  inbound_reason: true,
  waits_for: true,
  wake: true,
  looping: true,
  proofs: true,
  offline_since: true,
  pending_ask_count: true,
  oldest_pending_age_seconds: true,
  initiator: true,
  parent_runtime_id: true,
  addressable_reason: true,
}).extend({
  initiator: Peer.shape.initiator.unwrap().nullable(),
  parent_runtime_id: z.string().nullable(),
  addressable_reason: z.string().nullable(),
  turn_at: Instant.nullable(),
  described_at: Instant.nullable(),
  agent_started: z.string().nullable(),
  /** True if the kernel proved that the process is this peer's. */
  agent_proved: z.boolean(),
  /** The pane in which the process claims to run. Another agent may have that pane. */
  claimed_pane_id: z.string().nullable(),
  runtime_session_id: z.string().nullable(),
  /** True if the agent itself reported its session. */
  session_proved: z.boolean(),
  /** The digest by which a WebSocket client is recognized. */
  client_key: z.string().nullable(),
  /** Proof that this machine made the peer's id; null for ids of earlier versions. */
  id_proof: z.string().nullable(),
  /** True if a birth certificate was issued to the peer. */
  certified: z.boolean(),
  offline_reason: z.string().nullable(),
  status_by: z.string().nullable(),
  status_at: Instant.nullable(),
  turn_by: z.string().nullable(),
  dropped_at: Instant.nullable(),
  closed: z.boolean(),
});
export type StoredPeer = z.output<typeof StoredPeer>;

/** The fields of a peer that each tick checks; a whole record costs four times as much. */
const MonitoredPeer = StoredPeer.pick({
  peer_id: true,
  machine: true,
  agent_pid: true,
  agent_started: true,
  last_seen: true,
  registered_at: true,
});
export type MonitoredPeer = z.output<typeof MonitoredPeer>;

/** The fields of a peer that transports and observation use. */
const StoredAgentPeer = StoredPeer.pick({
  peer_id: true,
  machine: true,
  backend: true,
  tmux_socket: true,
  pane_id: true,
  agent_pid: true,
  agent_started: true,
  runtime_session_id: true,
  turn_state: true,
  turn_at: true,
  metadata: true,
});
export type StoredAgentPeer = z.output<typeof StoredAgentPeer>;

/** The process and the pane of a live peer. */
const LiveProcess = StoredPeer.pick({
  agent_pid: true,
  agent_started: true,
  agent_proved: true,
  pane_id: true,
  tmux_socket: true,
});

/** The fields of a peer by which a sender is matched with it (`identity/`). */
const IdentityFacts = StoredPeer.pick({
  peer_id: true,
  name: true,
  machine: true,
  agent_pid: true,
  agent_started: true,
  agent_proved: true,
  status: true,
  dropped_at: true,
});
export type IdentityFacts = z.output<typeof IdentityFacts>;

/** The fields of a peer that decide who may act in its name. */
const ActingPeer = StoredPeer.pick({
  peer_id: true,
  name: true,
  role: true,
  agent_pid: true,
  agent_started: true,
  runtime_session_id: true,
  ephemeral: true,
  addressable: true,
  parent_runtime_id: true,
});
export type ActingPeer = z.output<typeof ActingPeer>;

/** The fields of a subagent, as its parent's record shows it. */
const StoredChild = StoredPeer.pick({
  peer_id: true,
  name: true,
  status: true,
  status_at: true,
  last_seen: true,
  registered_at: true,
  parent_runtime_id: true,
  metadata: true,
});
export type StoredChild = z.output<typeof StoredChild>;

const ADDRESS_COLUMNS = Object.keys(Address.shape)
  .map((column) => column === "daemon_id" ? "null as daemon_id" : column)
  .join(", ");

const table = tableOf("peers", StoredPeer, "peer_id");
/** Only subagents are removed: they get no messages, so no other table refers to them. */
export const { insert, remove } = table;
/** A hook's report reads the record of its peer for several rules, and writes it once. */
export const { get, update } = rememberLast("peers", ({ peer_id }) => peer_id, table);

/** Maximum ended agents that are read together with the live ones. */
const ENDED_PEERS_MAX = 500;

/** Condition for records that were neither closed nor dropped. */
const OPEN = "dropped_at is null and closed = 0";
/** Condition for peers online or busy and not dropped, as in the indexes `peers_live…`. */
const LIVE = "status in ('online', 'busy') and dropped_at is null";

/** Subagents that agents started: short-lived, with a parent, and without messages. */
const SUBAGENT = "ephemeral = 1 and addressable = 0 and parent_runtime_id is not null";
/** Condition for subagents that their parents reported. Others have registered by themselves. */
const REPORTED_SUBAGENT = `${SUBAGENT} and metadata ->> 'subagent_id' is not null`;

/** The records that satisfy a condition. */
function peersWhere(db: Reader, condition: string, params: Params = {}): StoredPeer[] {
  return table.all(db, `where ${condition}`, params);
}

/** A reader of some fields of the peers that satisfy a condition. */
function readerOf<S extends z.ZodObject>(fields: S) {
  const row = rowOf(fields);
  const select = `select ${Object.keys(fields.shape).join(", ")} from peers`;
  return (db: Reader, condition: string, params: Params = {}): z.output<S>[] =>
    db.all(row, `${select} where ${condition}`, params);
}

const monitoredWhere = readerOf(MonitoredPeer);
const agentsWhere = readerOf(StoredAgentPeer);
const liveProcessesWhere = readerOf(LiveProcess);
const identitiesWhere = readerOf(IdentityFacts);
const actingWhere = readerOf(ActingPeer);
const childrenWhere = readerOf(StoredChild);
const processesWhere = readerOf(StoredPeer.pick({ agent_pid: true, agent_started: true }));

/** The addresses that satisfy a condition. */
function addressesWhere(db: Reader, condition: string, params: Params = {}): Address[] {
  return db.all(Address, `select ${ADDRESS_COLUMNS} from peers where ${condition}`, params);
}

/** The address of an exact id, even if it was closed or dropped. */
export function address(db: Reader, peer_id: string): Address | undefined {
  return addressesWhere(db, "peer_id = :peer_id", { peer_id })[0];
}

/** Addresses by name, without retired and dropped ones; live ones first. */
export function byName(db: Reader, name: string): Address[] {
  const condition = "name = :name and status <> 'retired' and dropped_at is null";
  return addressesWhere(db, `${condition} order by status = 'offline'`, { name });
}

/** Condition for live peers, other than this one, that take names in a circle. */
const TAKEN = `${LIVE} and peer_id <> :peer_id
  and (circle = :circle or role in (${
  ROLES_OF_ALL_CIRCLES.map((role) => `'${role}'`).join(", ")
}))`;

/** True if another live peer has the name in a circle. */
export function isNameTaken(
  db: Reader,
  params: { readonly name: string; readonly circle: string; readonly peer_id: string },
): boolean {
  const statement = `select exists (select 1 from peers where name = :name and ${TAKEN})`;
  return db.value(z.number(), statement, params) === 1;
}

/** The taken names of a circle with a prefix, as one text: reading thousands of rows is slow. */
export function takenNames(
  db: Reader,
  { prefix, ...params }: {
    readonly prefix: string;
    readonly circle: string;
    readonly peer_id: string;
  },
): string[] {
  const names = db.value(
    z.string(),
    `select json_group_array(name) from peers indexed by peers_live_names
     where name >= :prefix and name < :after and ${TAKEN}`,
    { ...params, prefix, after: `${prefix}\x7f` },
  );
  return z.array(z.string()).parse(JSON.parse(names ?? "[]"));
}

const idsFrom = idsOf("peers", "peer_id");

/** The first peers whose ids begin with `short`, without closed and dropped ones. */
export function startingWith(db: Reader, short: string): Address[] {
  return idsFrom(db, short)
    .flatMap((peer_id) => address(db, peer_id) ?? [])
    .filter(({ closed, dropped_at }) => !closed && dropped_at === null);
}

/** Stores the proofs of new ids, which the table of a renewal holds. */
export function renewIdProofs(tx: Tx): void {
  tx.run("update peers set id_proof = (select id_proof from new_peer_ids where new = peer_id)");
}

const NamedPeer = StoredPeer.pick({ peer_id: true, name: true, role: true });

/** The names of all peers but the human that were not closed. */
export function names(db: Reader) {
  const statement = "select peer_id, name, role from peers where closed = 0 and role <> 'human'";
  return db.all(NamedPeer, statement);
}

export function all(db: Reader): StoredPeer[] {
  return peersWhere(db, `${OPEN} order by registered_at, peer_id`);
}

/** The peers to list; null matches any. */
export interface ListFilter {
  /** If given, only peers that are live, and offline ones that were last seen since. */
  readonly since: number | null;
  readonly source: string | null;
  readonly addressable: 0 | 1 | null;
  readonly circle: string | null;
  readonly status: string | null;
  readonly subagents: 0 | 1 | null;
}

/** The ids of the peers that match, in the order of their registration. */
export function listedIds(db: Reader, filter: ListFilter): string[] {
  return db.values(
    z.string(),
    `select peer_id from peers where ${OPEN}
       and (:since is null or status <> 'retired'
            and (status <> 'offline' or coalesce(last_seen, registered_at) >= :since))
       and (:source is null or source = :source)
       and (:addressable is null or addressable = :addressable)
       and (:circle is null or circle = :circle) and (:status is null or status = :status)
       and (:subagents is null or :subagents = (${SUBAGENT}))
     order by registered_at, peer_id`,
    { ...filter },
  );
}

/** The given peers that were not closed or dropped, in the order of their registration. */
export function byIds(db: Reader, peer_ids: readonly string[]): StoredPeer[] {
  return peersWhere(
    db,
    `peer_id in (select value from json_each(:ids)) and ${OPEN}
     order by registered_at, peer_id`,
    { ids: JSON.stringify(peer_ids) },
  );
}

/** Peers that are online or busy, and not dropped. */
export function livePeers(db: Reader): StoredPeer[] {
  return peersWhere(db, LIVE);
}

/**
 * Live peers, and the ended agents that were seen last and have a session: they may be started
 * again.
 */
export function liveAndEndedPeers(db: Reader): StoredPeer[] {
  const ended = `status = 'offline' and ${OPEN} and runtime_session_id is not null
    order by last_seen desc limit ${ENDED_PEERS_MAX}`;
  return [...livePeers(db), ...peersWhere(db, ended)];
}

/** The fields of a peer that has a folder. */
const FolderPeer = StoredPeer.pick({
  peer_id: true,
  name: true,
  backend: true,
  circle: true,
  path: true,
  status: true,
  turn_state: true,
  turn_at: true,
  last_seen: true,
  registered_at: true,
});
export type FolderPeer = z.output<typeof FolderPeer>;
const folderPeersWhere = readerOf(FolderPeer);

/** The agents of a machine with a folder that were seen since then, the latest first. */
export function withFolders(
  db: Reader,
  params: { readonly machine: string; readonly since: number; readonly limit: number },
): FolderPeer[] {
  const condition =
    `machine = :machine and path is not null and role <> 'human' and not (${SUBAGENT})
    and dropped_at is null and (status in ('online', 'busy') or last_seen >= :since)
    order by coalesce(turn_at, last_seen, registered_at) desc limit :limit`;
  return folderPeersWhere(db, condition, { ...params });
}

/** The processes and panes of live peers. Every request of a person reads them. */
export function liveProcesses(db: Reader) {
  return liveProcessesWhere(db, `${LIVE} and (agent_pid is not null or pane_id is not null)`);
}

/** Processes that were proved to be a peer's, including those of offline peers. */
export function provedProcesses(db: Reader) {
  return processesWhere(db, "agent_proved and agent_pid is not null and agent_started is not null");
}

/** Live peers that each tick checks: all except the human and reported subagents. */
export function monitoredPeers(db: Reader): MonitoredPeer[] {
  return monitoredWhere(db, `${LIVE} and role <> 'human' and not (${REPORTED_SUBAGENT})`);
}

/** Live peers that accept messages. */
export function reachableAgents(db: Reader): StoredAgentPeer[] {
  return agentsWhere(db, `${LIVE} and closed = 0 and addressable = 1`);
}

/** Offline peers with a session and without a process, whose agent may still run. */
export function unobservedAgents(db: Reader): StoredAgentPeer[] {
  return agentsWhere(
    db,
    `status = 'offline' and ${OPEN}
       and agent_pid is null and runtime_session_id is not null
       and offline_reason in ('daemon_restart', 'agent_exited', 'session_end')`,
  );
}

const OF_SESSION = `runtime_session_id = :runtime_session_id and closed = 0
  and status <> 'retired'`;
const OF_SESSION_IN_ORDER = `${OF_SESSION} order by ${LIVE} desc, last_seen desc`;

export function bySession(db: Reader, runtime_session_id: string): StoredPeer[] {
  return peersWhere(db, OF_SESSION_IN_ORDER, { runtime_session_id });
}

/** As `bySession`, of one kind of agent; null is any. */
export function identitiesOfSession(
  db: Reader,
  params: { readonly runtime_session_id: string; readonly backend: string | null },
): IdentityFacts[] {
  const condition = `(:backend is null or backend = :backend) and ${OF_SESSION_IN_ORDER}`;
  return identitiesWhere(db, condition, params);
}

/** The peer of a WebSocket client, unless it was closed or is retired. */
export function byClient(db: Reader, client_key: string): StoredPeer | undefined {
  const condition = "client_key = :client_key and closed = 0 and status <> 'retired'";
  return peersWhere(db, condition, { client_key })[0];
}

const OF_PROCESS = `agent_pid = :agent_pid and agent_started = :started
  and agent_proved = 1 and closed = 0 and status <> 'retired'`;

/**
 * Up to two peers whose proved process has this pid: those that are not retired first, then live
 * ones. Dropped peers are left out: they have left the mesh and may register again.
 */
export function twoByPid(db: Reader, agent_pid: number): IdentityFacts[] {
  return identitiesWhere(
    db,
    `agent_pid = :agent_pid and agent_proved = 1 and dropped_at is null
     order by status = 'retired', ${LIVE} desc limit 2`,
    { agent_pid },
  );
}

/** The peer of this exact id, in any status. */
export function actingPeer(db: Reader, peer_id: string): ActingPeer | undefined {
  return actingWhere(db, "peer_id = :peer_id", { peer_id })[0];
}

/** The columns on which answers about identities depend. */
export function identityValues(row: "old" | "new"): string[] {
  const more = ["machine", "agent_proved", "dropped_at"];
  const columns = [...Object.keys(ActingPeer.shape), ...more];
  return [
    ...columns.map((column) => `${row}.${column}`),
    `${row}.status in ('online', 'busy')`,
    `${row}.status = 'retired'`,
  ];
}

/** The names of the peers that a process or a session identifies. */
export function identifiedNames(db: Reader): string[] {
  return db.values(
    z.string(),
    `select distinct name from peers
     where (agent_pid is not null or runtime_session_id is not null)
       and status <> 'retired' and ${OPEN}`,
  );
}

/** Peers whose process was proved to be this one. */
export function byProcess(db: Reader, agent_pid: number, started: string): StoredPeer[] {
  return peersWhere(db, OF_PROCESS, { agent_pid, started });
}

/**
 * The peers of a process that a registration may match. A program may register thousands of peers
 * under other names, so `prefix` limits their names; null matches any.
 */
export function candidatesByProcess(
  db: Reader,
  params: {
    readonly agent_pid: number;
    readonly started: string;
    readonly backend: string;
    readonly prefix: string | null;
    readonly pane_id: string | null;
    readonly session: string | null;
  },
): StoredPeer[] {
  return peersWhere(
    db,
    `${OF_PROCESS} and backend = :backend
       and (not (${LIVE}) or :prefix is null or substr(name, 1, length(:prefix)) = :prefix
         or pane_id = :pane_id or runtime_session_id = :session)`,
    params,
  );
}

const ON_PANE = `pane_id = :pane_id and status <> 'retired' and dropped_at is null
    and (:tmux_socket is null or tmux_socket = :tmux_socket)
  order by status = 'offline', last_seen desc`;

/** Peers that have this pane; without a socket, on any tmux server. */
export function byPane(db: Reader, pane_id: string, tmux_socket: string | null): StoredPeer[] {
  return peersWhere(db, ON_PANE, { pane_id, tmux_socket });
}

/** As `byPane`. */
export function identitiesOnPane(
  db: Reader,
  pane_id: string,
  tmux_socket: string | null,
): IdentityFacts[] {
  return identitiesWhere(db, ON_PANE, { pane_id, tmux_socket });
}

/** The other peers that have this exact pane, or claim it, including offline and retired ones. */
export function atPane(
  db: Reader,
  { peer_id, pane_id, tmux_socket, machine }: Pick<
    StoredPeer,
    "peer_id" | "pane_id" | "tmux_socket" | "machine"
  >,
): StoredPeer[] {
  return peersWhere(
    db,
    `(pane_id = :pane_id or claimed_pane_id = :pane_id) and tmux_socket is :tmux_socket
       and machine is :machine and closed = 0 and peer_id <> :peer_id`,
    { peer_id, pane_id, tmux_socket, machine },
  );
}

/** The tmux sockets that peers of a machine registered with. */
export function tmuxSockets(db: Reader, machine: string): string[] {
  return db.values(
    z.string(),
    `select distinct tmux_socket from peers
     where tmux_socket is not null and machine = :machine and closed = 0
     order by tmux_socket`,
    { machine },
  );
}

/** Orchestrators of a circle, including offline, retired and dropped ones; live ones first. */
export function orchestrators(db: Reader, circle: string): Address[] {
  return addressesWhere(
    db,
    `circle = :circle and role = 'orchestrator' and closed = 0
     order by status in ('offline', 'retired'), peer_id`,
    { circle },
  );
}

export function members(db: Reader, circle: string): Address[] {
  return addressesWhere(
    db,
    `circle = :circle and role in ('agent', 'orchestrator')
       and status <> 'retired' and dropped_at is null
     order by peer_id`,
    { circle },
  );
}

/** Peers with a tag, without the human, and without retired and dropped ones. */
export function tagged(db: Reader, tag: string): Address[] {
  return addressesWhere(
    db,
    `tags <> '[]' and exists (select 1 from json_each(tags) where value = :tag)
       and role <> 'human' and status <> 'retired' and ${OPEN}
     order by peer_id`,
    { tag },
  );
}

/** The one human; at most one is live. */
export function human(db: Reader): Address | undefined {
  return addressesWhere(
    db,
    `role = 'human' and status <> 'retired' and dropped_at is null
     order by status = 'offline' limit 1`,
  )[0];
}

/**
 * Offline and dropped peers of this name that a registration may match, last seen first: only peers
 * that are identified by their name alone. Many old peers may share a name.
 */
export function offlineByName(
  db: Reader,
  params: {
    readonly name: string;
    readonly circle: string;
    readonly backend: string;
    /** A client may replace a peer without a certificate and a pane. */
    readonly is_client: 0 | 1;
    /** The folder of any other peer; null matches any. */
    readonly path: string | null;
  },
): StoredPeer[] {
  return peersWhere(
    db,
    `name = :name and circle = :circle and backend = :backend and status = 'offline'
       and closed = 0 and client_key is null and runtime_session_id is null
       and iif(:is_client, certified = 0 and pane_id is null,
               agent_pid is null and (:path is null or path = :path))
     order by last_seen desc`,
    params,
  );
}

export function setLastSeen(tx: Tx, peer_id: string, at: number): void {
  tx.run("update peers set last_seen = :at where peer_id = :peer_id", { peer_id, at });
}

export function setLastDelivery(tx: Tx, peer_id: string, at: number): void {
  tx.run("update peers set last_delivery_at = :at where peer_id = :peer_id", { peer_id, at });
}

function countWhere(db: Reader, condition: string): number {
  return db.value(z.number(), `select count(*) from peers where ${condition}`) ?? 0;
}

/** Number of live peers. */
export const liveCount = (db: Reader) => countWhere(db, LIVE);

/** Number of peers with a record. Reads the whole table. */
export const recordCount = (db: Reader) => countWhere(db, OPEN);

/** Number of peers with a record, without subagents. */
export const count = (db: Reader) => countWhere(db, `${OPEN} and not (${SUBAGENT})`);

/** The subagents of a peer, newest first. A parent is recorded by its peer id or its session. */
export function childrenOf(
  db: Reader,
  { peer_id, runtime_session_id }: Pick<StoredPeer, "peer_id" | "runtime_session_id">,
): StoredChild[] {
  return childrenWhere(
    db,
    `parent_runtime_id in (:peer_id, :session) and ${SUBAGENT} and ${OPEN}
     order by registered_at desc, rowid desc`,
    { peer_id, session: runtime_session_id ?? peer_id },
  );
}

/** The subagents of all peers that their parents reported. */
export function reportedSubagents(db: Reader): StoredChild[] {
  return childrenWhere(db, `${REPORTED_SUBAGENT} and ${OPEN} order by registered_at, rowid`);
}
