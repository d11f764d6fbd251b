/**
 * Every component in each of its states, for its developers: `deno task components`. The
 * program does not ship it.
 */

import { render } from "preact";
import { Gallery } from "./gallery.tsx";

const root = document.getElementById("app");
if (root) {
  document.title = "Components · Agent Mesh";
  render(<Gallery />, root);
}
