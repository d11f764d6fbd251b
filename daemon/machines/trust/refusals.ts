/** Why a machine is not trusted: for each reason, what happened and what to do. */

import { type Card, fingerprintOf } from "./cards.ts";

/** A card that is not accepted. */
export interface CardRefusal {
  readonly reason:
    | "malformed"
    | "not_of_network"
    | "not_signed"
    | "keys_changed"
    | "name_taken"
    | "name_reserved"
    | "too_many";
  /** The machine that the card names; null if it names none. Proved only for the last four. */
  readonly daemon_id: string | null;
  readonly detail: string;
  readonly hint: string;
}

export function malformed(summary: string): CardRefusal {
  return {
    reason: "malformed",
    daemon_id: null,
    detail: `The card of a machine cannot be read: ${summary}`,
    hint: "update the mesh on both machines; if it stays so, something else writes to the bus",
  };
}

export function notOfNetwork(card: Card): CardRefusal {
  return {
    reason: "not_of_network",
    daemon_id: card.daemon_id,
    detail: `${labelOf(card)} does not have the secret of this network`,
    hint: "join it again there, with the network secret of this machine",
  };
}

export function notSigned(card: Card): CardRefusal {
  return {
    reason: "not_signed",
    daemon_id: card.daemon_id,
    detail: `The card of ${labelOf(card)} is not signed with its own key`,
    hint: "run `mesh machines leave` there, then join it again; if it stays so, a machine that " +
      "has the network secret imitates it",
  };
}

export function keysChanged(card: Card, pinned: Card): CardRefusal {
  return {
    reason: "keys_changed",
    daemon_id: card.daemon_id,
    detail: `${labelOf(card)} has other keys than before: its fingerprint was ` +
      `${fingerprintOf(pinned)}, and is now ${fingerprintOf(card)}`,
    hint: "if it was set up again, compare the new fingerprint with the one that " +
      `\`mesh machines\` shows there, then run \`mesh machines forget ${pinned.daemon_id}\` here; ` +
      "if not, another machine imitates it",
  };
}

export function nameTaken(card: Card, holder: Pick<Card, "daemon_id">): CardRefusal {
  return {
    reason: "name_taken",
    daemon_id: card.daemon_id,
    detail: `The name "${card.name}" of ${card.daemon_id} belongs to ${holder.daemon_id}`,
    hint: "set another mesh.bus.name on one of them; if the holder is gone for good, run " +
      `\`mesh machines forget ${holder.daemon_id}\``,
  };
}

export function nameReserved(card: Card, { name }: Pick<Card, "name">): CardRefusal {
  return {
    reason: "name_reserved",
    daemon_id: card.daemon_id,
    detail: `${card.daemon_id}, known as "${name}", wants the name "${card.name}", to which ` +
      "mesh.bus.allow_admin, mesh.bus.allow_prove or mesh.bus.human_home gives rights here",
    hint: `if it shall have them, run \`mesh machines forget ${card.daemon_id}\` here, or name ` +
      "it by its id in the settings; if not, it imitates another machine",
  };
}

export function tooMany(card: Card, machines_max: number): CardRefusal {
  return {
    reason: "too_many",
    daemon_id: card.daemon_id,
    detail: `${labelOf(card)} is not accepted: ${machines_max} machines are known already`,
    hint: "remove those that are gone with `mesh machines forget`",
  };
}

function labelOf({ name, daemon_id }: Card): string {
  return `${name} (${daemon_id})`;
}
