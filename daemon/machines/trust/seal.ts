/** Sealing between two machines: only the receiver can read the bytes, and knows their sender. */

/**
 * Seals what goes to another machine, and opens what comes from it. The context, such as `batch`,
 * must be the same on both sides, so that nothing sealed for one purpose serves another.
 */
export interface MachineSeal {
  /** Throws `unknown_machine_name` if the keys of the machine are not known. */
  seal(to: string, context: string, bytes: Uint8Array): Uint8Array;
  /** Null for bytes that the machine did not write for this machine in this context. */
  open(from: string, context: string, bytes: Uint8Array): Uint8Array | null;
}
