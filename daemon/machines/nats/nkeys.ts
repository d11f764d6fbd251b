/** Keys of NATS users: a seed, which signs the server's challenge, and the public key. */

import { keyLibrary } from "./libraries.ts";

export interface UserKey {
  /** Secret: `SU` and 56 characters. */
  readonly seed: string;
  /** `U` and 55 characters: the server's configuration names it. */
  readonly public_key: string;
}

/** Makes a key from the randomness of the system. */
export async function makeUserKey(): Promise<UserKey> {
  const { createUser } = await keyLibrary();
  const pair = createUser();
  const seed = new TextDecoder().decode(pair.getSeed());
  const public_key = pair.getPublicKey();
  pair.clear();
  return { seed, public_key };
}

/** The public key of a user's seed; undefined if the seed is malformed. */
export async function publicKeyOf(seed: string): Promise<string | undefined> {
  const { fromSeed, NKeysError } = await keyLibrary();
  if (!/^SU[A-Z2-7]{56}$/.test(seed)) return undefined;
  try {
    const pair = fromSeed(new TextEncoder().encode(seed));
    const public_key = pair.getPublicKey();
    pair.clear();
    return public_key;
  } catch (error) {
    if (error instanceof NKeysError) return undefined;
    throw error;
  }
}

/** True if a text is the public key of a user, its checksum included. */
export async function isPublicKey(text: string): Promise<boolean> {
  const { fromPublic, NKeysError } = await keyLibrary();
  if (!/^U[A-Z2-7]{55}$/.test(text)) return false;
  try {
    fromPublic(text);
    return true;
  } catch (error) {
    if (error instanceof NKeysError) return false;
    throw error;
  }
}
