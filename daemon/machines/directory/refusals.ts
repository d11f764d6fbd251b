/** Reasons why an entry of the directory is refused: for each, what happened and what to do. */

// deno-fmt-ignore
const REFUSALS = {
  not_readable:    ["It is not an entry that this machine made for this network", "join the machine again, with the network secret of this one"],
  malformed:       ["Its content cannot be read", "update the mesh on both machines"],
  unknown_version: ["It has a format that this version does not know", "update the mesh on both machines"],
  outdated:        ["It is older than an earlier entry", "if it stays so, check the clock of that machine"],
  peers_skipped:   ["Some of its peers cannot be read, and are left out", "update the mesh on this machine"],
  peer_id_taken:   ["Some of its peers have ids that belong to another machine, and are left out", "if its state was copied from another machine, run `mesh machines renew-identity` there"],
} as const;

export type EntryRefusal = keyof typeof REFUSALS;

export function describe(reason: EntryRefusal): { readonly detail: string; readonly hint: string } {
  const [detail, hint] = REFUSALS[reason];
  return { detail, hint };
}
