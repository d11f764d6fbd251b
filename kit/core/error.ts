/** What was thrown, as text: in JavaScript it may be anything. */

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
