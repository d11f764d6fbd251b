/** Instants for people: in the local time of this machine, with the offset of its zone. */

/** Local date and time with the offset, such as `2030-01-31 14:05:09 +01:00`. */
export function formatInstant(instant: string | number): string;
export function formatInstant(instant: string | number | null): string | null;
export function formatInstant(instant: string | number | null): string | null {
  if (instant === null) return null;
  const at = new Date(instant);
  return isValid(at) ? `${dateOf(at)} ${timeOf(at)} ${offsetOf(at)}` : String(instant);
}

export function isValid(at: Date): boolean {
  return !Number.isNaN(at.getTime());
}

export function dateOf(at: Date): string {
  const month = twoDigits(at.getMonth() + 1);
  return `${at.getFullYear()}-${month}-${twoDigits(at.getDate())}`;
}

export function timeOf(at: Date): string {
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(":");
}

export function offsetOf(at: Date): string {
  const minutes = -at.getTimezoneOffset();
  const distance = Math.abs(minutes);
  const hours = `${minutes < 0 ? "-" : "+"}${twoDigits(Math.floor(distance / 60))}`;
  return `${hours}:${twoDigits(distance % 60)}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}
