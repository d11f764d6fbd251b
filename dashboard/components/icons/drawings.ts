/** The drawings of all icons: one path each, on a grid of 20 by 20, drawn with a stroke of 1.5. */

export const ICONS = {
  agents:
    "M10 2.5a2 2 0 1 0 0 4 2 2 0 0 0 0-4ZM4.5 13a2 2 0 1 0 0 4 2 2 0 0 0 0-4ZM15.5 13a2 2 0 1 0 0 4 2 2 0 0 0 0-4ZM9 6.3l-3.6 6.9M11 6.3l3.6 6.9M6.5 15h7",
  allow: "m4 10.5 4 4 8-9",
  answer: "M8 4 3 9l5 5M3 9h8.5a5.5 5.5 0 0 1 5.5 5.5V16",
  asks: "M3 4h14v10H9.5L6 17v-3H3ZM7 7.75h6M7 10.5h4",
  attention:
    "M10 3a4.75 4.75 0 0 0-4.75 4.75C5.25 11.5 3.75 13 3.75 13h12.5s-1.5-1.5-1.5-5.25A4.75 4.75 0 0 0 10 3ZM8.5 16a1.6 1.6 0 0 0 3 0",
  back: "M12.5 4.5 7 10l5.5 5.5",
  changes: "M10 3v8M6 7h8M6 15.5h8",
  close: "m5 5 10 10M15 5 5 15",
  copy: "M7.5 7.5h9v9h-9ZM4.5 12.5h-1v-9h9v1",
  deny: "M10 2.5a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15ZM4.75 4.75l10.5 10.5",
  health: "M2 10.5h3.5l2-6 4.5 11 2-5h4",
  interrupt: "M10 2.5a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15ZM8 7.25v5.5M12 7.25v5.5",
  jobs: "m3 5 1.5 1.5L7.5 4M3 13.5 4.5 15l3-2.5M10.5 5.5H17M10.5 14H17",
  kill: "M7 2.5h6L17.5 7v6L13 17.5H7L2.5 13V7ZM7.5 7.5l5 5M12.5 7.5l-5 5",
  log: "M3.5 5h13M3.5 10h13M3.5 15h8",
  machine: "M3 3.5h14V13H3ZM10 13v3.5M6.5 16.5h7",
  more:
    "M4.5 9.25a.75.75 0 1 0 0 1.5.75.75 0 0 0 0-1.5ZM10 9.25a.75.75 0 1 0 0 1.5.75.75 0 0 0 0-1.5ZM15.5 9.25a.75.75 0 1 0 0 1.5.75.75 0 0 0 0-1.5Z",
  phone: "M5.5 2.5h9v15h-9ZM9 14.75h2",
  read: "M2 10.75 5.5 14 12 6M9.5 13l1 1L18 6",
  relay: "M3 8.5a9 9 0 0 1 14 0M6 11a5.25 5.25 0 0 1 8 0M10 13v4M7 17h6",
  restart: "M5.2 5.6A6.25 6.25 0 1 1 3.75 10M5 2.5v3.25h3.25",
  schedules: "M3.5 5h13v11.5h-13ZM3.5 9h13M7 3v3.5M13 3v3.5",
  search: "M8.5 3a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM12.5 12.5 17 17",
  settings: "M3 6h6.5M14.5 6H17M12 3.5v5M3 14h2.5M10.5 14H17M8 11.5v5",
  snooze: "M10 2.5a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15ZM10 6v4.25l3 1.75",
  start: "M10 4v12M4 10h12",
  timeline:
    "M4.5 3.25a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3ZM4.5 13.75a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3ZM4.5 6.25v7.5M9 4.75h8M9 10h5M9 15.25h8",
  usage: "M4 17v-5.5M10 17V3.5M16 17V8",
} as const;

export type IconName = keyof typeof ICONS;

/** A mark of our own for each agent, by the name of its backend; other backends have none. */
export const AGENT_MARKS: Readonly<Record<string, string>> = {
  "claude-code": "M15 5.2a7 7 0 1 0 0 9.6M10 8.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3Z",
  codex: "M6.5 4.5 2 10l4.5 5.5M13.5 4.5 18 10l-4.5 5.5M10 8v4",
  copilot: "m2.5 15 4-5-4-5M8.5 15l4-5-4-5M14.5 15h3.5",
  gemini: "M7.25 5a5 5 0 1 0 0 10 5 5 0 0 0 0-10ZM12.75 5a5 5 0 1 0 0 10 5 5 0 0 0 0-10Z",
  generic: "M10 2.5 16.5 6.25v7.5L10 17.5l-6.5-3.75v-7.5Z",
  opencode: "M7 3.5H3.5v13H7M13 3.5h3.5v13H13M8 10h4",
};

/** The person in the mesh. */
export const PERSON_MARK = "M10 3a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7ZM3.5 17a6.5 6.5 0 0 1 13 0";

/**
 * The shapes of states, which differ without their colours: a triangle works, a diamond waits for
 * somebody, a disc is idle, a ring is offline, a broken ring is starting, a cross has failed.
 */
export const SHAPES = {
  working: "M6 3.5 16 10 6 16.5Z",
  waiting: "M10 2.5 17.5 10 10 17.5 2.5 10Z",
  idle: "M10 4a6 6 0 1 0 0 12 6 6 0 0 0 0-12Z",
  offline: "M10 4.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11Z",
  starting: "M10 4.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11Z",
  failed: "m5 5 10 10M15 5 5 15",
  done: "m4 10.5 4 4 8-9",
} as const;

export type Shape = keyof typeof SHAPES;
