/**
 * Every component in each of its states, for developers: `deno task components`. The program does
 * not include it.
 */

import { render } from "preact";
import { Gallery } from "./gallery.tsx";

const root = document.getElementById("app");
if (root) {
  document.title = "Components · Agent Mesh";
  render(<Gallery />, root);
}
