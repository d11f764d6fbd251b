/** Starts the dashboard. Its state asks for the data while the code that draws it still arrives. */

import { startState } from "../state/start.ts";

startState();
const { draw } = await import("./draw.tsx");
await draw();
