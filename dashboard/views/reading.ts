/** The views that read and write messages: one file, which is loaded with the first of them. */

export { Asks } from "./asks.tsx";
export { Log } from "./log.tsx";
export { PeerView } from "./peer.tsx";
