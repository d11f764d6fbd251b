/** SQL of peers on other machines: one statement per function, without rules. */

import * as z from "zod";
import { madeLate } from "kit/core/schema.ts";
import { idsOf } from "../../../data/short_ids.ts";
import { type Reader, rowOf, tableOf, type Tx } from "kit/data/sqlite.ts";
import type { Params } from "kit/data/statements.ts";
import { Address } from "protocol/peers/record.ts";
import { type ListFilter, StoredPeer } from "../store.ts";
import { type RemotePeer, remotePeer } from "./schemas.ts";

const table = madeLate(() => tableOf("remote_peers", remotePeer(), "peer_id"));
export const get = (db: Reader, peer_id: string) => table().get(db, peer_id);
export const insert = (tx: Tx, peer: RemotePeer) => table().insert(tx, peer);
export const update = (tx: Tx, peer: RemotePeer) => table().update(tx, peer);
export const remove = (tx: Tx, peer_id: string) => table().remove(tx, peer_id);

/** The columns of an address: another machine shares only peers that receive messages. */
const ADDRESSES = `select peer_id, name || '@' || machine as name, circle, backend, role, status,
    1 as addressable, null as parent_runtime_id, null as mesh_session_id, 0 as closed,
    null as dropped_at, null as queue_max, null as pair_per_minute, 1 as hook_messages, daemon_id
  from remote_peers`;

const localPeer = madeLate(() =>
  StoredPeer.pick({
    peer_id: true,
    name: true,
    circle: true,
    backend: true,
    model: true,
    role: true,
    status: true,
    turn_state: true,
    turn_at: true,
    turn_by: true,
    description: true,
    described_at: true,
    path: true,
    last_seen: true,
    parent_runtime_id: true,
    id_proof: true,
  })
);
const localPeerRow = madeLate(() => rowOf(localPeer()));
export type LocalPeer = z.output<ReturnType<typeof localPeer>>;

/** The peers of this machine that may be shared; null matches any circle. */
interface ShareFilter {
  readonly circles: readonly string[] | null;
  /** Only peers that are live, and offline ones that were last seen since. */
  readonly since: number;
  readonly limit: number;
}

const selectShareable = madeLate(() =>
  `select ${Object.keys(localPeer().shape).join(", ")} from peers
  where role <> 'human' and status <> 'retired' and dropped_at is null and closed = 0
    and addressable = 1 and initiator is not 'system'
    and (:circles is null or circle in (select value from json_each(:circles)))`
);

/** The peers of this machine that may be shared: live ones first, then those seen last. */
export function shareable(db: Reader, { circles, ...filter }: ShareFilter): LocalPeer[] {
  return db.all(
    localPeerRow(),
    `${selectShareable()}
       and (status <> 'offline' or coalesce(last_seen, registered_at) >= :since)
     order by status = 'offline', coalesce(last_seen, registered_at) desc, peer_id limit :limit`,
    { ...filter, circles: circles && JSON.stringify(circles) },
  );
}

/** A peer of this machine, if it may be shared. */
export function shareablePeer(
  db: Reader,
  { peer_id, circles }: { readonly peer_id: string } & Pick<ShareFilter, "circles">,
): LocalPeer | undefined {
  return db.get(
    localPeerRow(),
    `${selectShareable()} and peer_id = :peer_id`,
    { peer_id, circles: circles && JSON.stringify(circles) },
  );
}

const ownHuman = madeLate(() => StoredPeer.pick({ peer_id: true, name: true, id_proof: true }));

/** The human of this machine, as other machines get it. */
export function shareableHuman(db: Reader) {
  return db.get(
    ownHuman(),
    `select peer_id, name, id_proof from peers
     where role = 'human' and status <> 'retired' and dropped_at is null
     order by status = 'offline' limit 1`,
  );
}

/** Number of known peers of a machine, without its human. */
export function countOf(db: Reader, daemon_id: string): number {
  const statement = `select count(*) from remote_peers
    where daemon_id = :daemon_id and role <> 'human'`;
  return db.value(z.number(), statement, { daemon_id }) ?? 0;
}

/** True if any machine has announced peers. */
export function isAny(db: Reader): boolean {
  return db.value(z.number(), "select exists (select 1 from remote_peers)") === 1;
}

/** The peers of a machine, and its human. */
export function ofMachine(db: Reader, daemon_id: string): RemotePeer[] {
  return table().all(db, "where daemon_id = :daemon_id order by peer_id", { daemon_id });
}

/** The addresses that satisfy a condition. */
function addressesWhere(db: Reader, condition: string, params: Params): Address[] {
  return db.all(Address, `${ADDRESSES} where ${condition}`, params);
}

const ON_MACHINE = "(machine = :machine collate nocase or daemon_id = :machine)";

export function address(db: Reader, peer_id: string): Address | undefined {
  return addressesWhere(db, "peer_id = :peer_id", { peer_id })[0];
}

/** The human of a machine. */
export function human(db: Reader, daemon_id: string): Address | undefined {
  return addressesWhere(db, "daemon_id = :daemon_id and role = 'human'", { daemon_id })[0];
}

/** The human of the machine of this name or daemon id. */
export function humanOn(db: Reader, machine: string): Address | undefined {
  return addressesWhere(db, `role = 'human' and ${ON_MACHINE}`, { machine })[0];
}

/** The peers of a name on all machines. */
export function byName(db: Reader, name: string): Address[] {
  const condition = "name = :name and role <> 'human'";
  return addressesWhere(db, `${condition} order by machine, circle, peer_id`, { name });
}

/** The peers of a name on the machine of this name or daemon id. */
export function byNameOnMachine(db: Reader, name: string, machine: string): Address[] {
  const condition = `name = :name and role <> 'human' and ${ON_MACHINE}`;
  return addressesWhere(db, `${condition} order by circle, peer_id`, { name, machine });
}

const idsFrom = idsOf("remote_peers", "peer_id");

/** The first peers of other machines whose ids begin with `short`. */
export function startingWith(db: Reader, short: string): Address[] {
  return idsFrom(db, short)
    .flatMap((peer_id) => address(db, peer_id) ?? [])
    .filter(({ role }) => role !== "human");
}

/** The agents and orchestrators of a circle on all machines. */
export function members(db: Reader, circle: string): Address[] {
  const condition = "circle = :circle and role in ('agent', 'orchestrator')";
  return addressesWhere(db, `${condition} order by machine, peer_id`, { circle });
}

/** The ids of the peers that match, machine by machine. */
export function listedIds(
  db: Reader,
  filter: Pick<ListFilter, "since" | "circle" | "status">,
): string[] {
  return db.values(
    z.string(),
    `select peer_id from remote_peers where role <> 'human'
       and (:since is null or status <> 'offline'
            or coalesce(last_seen, registered_at) >= :since)
       and (:circle is null or circle = :circle) and (:status is null or status = :status)
     order by machine, registered_at, peer_id`,
    { ...filter },
  );
}

/** The given peers that are still known, machine by machine. */
export function byIds(db: Reader, peer_ids: readonly string[]): RemotePeer[] {
  return table().all(
    db,
    `where peer_id in (select value from json_each(:ids))
     order by machine, registered_at, peer_id`,
    { ids: JSON.stringify(peer_ids) },
  );
}

/** Takes all peers offline; returns how many were not. */
export function setAllOffline(tx: Tx): number {
  return tx.run(
    "update remote_peers set status = 'offline', turn_state = null where status <> 'offline'",
  );
}
