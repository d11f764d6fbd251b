/**
 * Makes the runtime's asynchronous calls settle in an order that depends on the program alone:
 * signatures and paths are worked out at once instead of on other threads, and a timer without a
 * delay is a turn of the event loop.
 */

import { createHmac, timingSafeEqual } from "node:crypto";

/** The daemon loads it with its first certificate: that must take no longer than later ones. */
import "jose";

/** After how many turns of the event loop a call on another thread has its result. */
const TURNS = 2;

async function inTurns<T>(work: () => T): Promise<T> {
  for (let turn = 0; turn < TURNS; turn++) await new Promise((done) => setImmediate(done));
  return work();
}

/** Replaces the calls until it is disposed of. Other algorithms than HMAC are left alone. */
export function deterministicRuntime(): Disposable {
  const restore = [replaceHmac(), replacePaths(), replaceTimers()];
  return { [Symbol.dispose]: () => restore.forEach((undo) => undo()) };
}

function replaceHmac(): () => void {
  const { importKey, sign, verify } = SubtleCrypto.prototype;
  const secrets = new WeakMap<CryptoKey, Uint8Array>();
  const macOf = (secret: Uint8Array, data: BufferSource) =>
    createHmac("sha256", secret).update(bytesOf(data)).digest();
  const replaced = SubtleCrypto.prototype as unknown as Record<string, unknown>;
  replaced["importKey"] = async function (this: SubtleCrypto, ...args: unknown[]) {
    const key = await (importKey as (...args: unknown[]) => Promise<CryptoKey>).apply(this, args);
    const [format, bytes] = args;
    if (format === "raw") secrets.set(key, bytesOf(bytes as BufferSource).slice());
    return key;
  };
  replaced["sign"] = function (this: SubtleCrypto, ...args: Parameters<typeof sign>) {
    const [, key, data] = args;
    const secret = key.algorithm.name === "HMAC" ? secrets.get(key) : undefined;
    return secret
      ? inTurns(() => Uint8Array.from(macOf(secret, data)).buffer)
      : sign.apply(this, args);
  };
  replaced["verify"] = function (this: SubtleCrypto, ...args: Parameters<typeof verify>) {
    const [, key, signature, data] = args;
    const secret = key.algorithm.name === "HMAC" ? secrets.get(key) : undefined;
    if (!secret) return verify.apply(this, args);
    return inTurns(() => {
      const [expected, found] = [macOf(secret, data), bytesOf(signature)];
      return expected.length === found.length && timingSafeEqual(expected, found);
    });
  };
  return () => Object.assign(replaced, { importKey, sign, verify });
}

function bytesOf(data: BufferSource): Uint8Array {
  return data instanceof ArrayBuffer
    ? new Uint8Array(data)
    : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

function replacePaths(): () => void {
  const { realPath, stat } = Deno;
  const replaced = Deno as unknown as Record<string, unknown>;
  replaced["realPath"] = (path: string) => inTurns(() => Deno.realPathSync(path));
  replaced["stat"] = (path: string) => inTurns(() => Deno.statSync(path));
  return () => Object.assign(replaced, { realPath, stat });
}

function replaceTimers(): () => void {
  const { setTimeout } = globalThis;
  const replaced = globalThis as unknown as Record<string, unknown>;
  replaced["setTimeout"] = (work: () => void, ms = 0) =>
    ms === 0 ? setImmediate(work) : setTimeout(work, ms);
  return () => void (replaced["setTimeout"] = setTimeout);
}
