/** Maps that keep only their latest entries. */

/** Sets an entry as the latest of a map. Removes the oldest one if there are more than `max`. */
export function setLatest<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}
