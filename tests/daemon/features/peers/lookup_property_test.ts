/** Lookup of peers by name, for any set of peers and any caller. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { matchesOf } from "../../../../daemon/features/peers/identity/lookup.ts";
import { PeerStatus, Role, ROLES_OF_ALL_CIRCLES } from "protocol/peers/record.ts";

const circle = fc.constantFrom("red", "blue", "green");
const LISTED = PeerStatus.options.filter((status) => status !== "retired");
const peer = fc.record({
  circle,
  role: fc.constantFrom(...Role.options),
  status: fc.constantFrom(...LISTED),
});
const peers = fc.array(peer, { maxLength: 6 });

type Peer = Pick<Parameters<typeof matchesOf>[0][number], "circle" | "role" | "status">;

const isIn = (where: string) => (candidate: Peer) =>
  candidate.circle === where || ROLES_OF_ALL_CIRCLES.includes(candidate.role);

/** The rule of contract 1, as its sentences say it. */
function expectedMatches(named: readonly Peer[], only?: string, first?: string): Peer[] {
  const searched = only !== undefined
    ? named.filter(isIn(only))
    : first !== undefined && named.some(isIn(first))
    ? named.filter(isIn(first))
    : [...named];
  const isLive = ({ status }: Peer) => status === "online" || status === "busy";
  return searched.some(isLive) ? searched.filter(isLive) : searched;
}

Deno.test("a name means the caller's circle first, then all circles, and live peers before offline ones [c1.peer-argument]", () => {
  const scope = fc.record({ only: fc.option(circle), first: fc.option(circle) });
  fc.assert(fc.property(peers, scope, (named, { only, first }) => {
    const circles = { only: only ?? undefined, first: first ?? undefined };
    assert.deepEqual(
      matchesOf(named, circles),
      expectedMatches(named, circles.only, circles.first),
    );
  }));
});

Deno.test("a peer of another circle never takes a name away from one of the caller's circle", () => {
  fc.assert(fc.property(peers, peer, circle, (named, other, first) => {
    fc.pre(named.some(isIn(first)) && !isIn(first)(other));
    assert.deepEqual(matchesOf([...named, other], { first }), matchesOf(named, { first }));
  }));
});

Deno.test("a name that any peer has is unknown only in a circle that the request fixes", () => {
  fc.assert(fc.property(peers, fc.option(circle), (named, first) => {
    const found = matchesOf(named, { first: first ?? undefined });
    assert.equal(found.length === 0, named.length === 0);
  }));
});
