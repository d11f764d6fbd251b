/** Real Gemini CLI: the release that all of this is proved with. */

import { installed } from "./lab.ts";

export function geminiCli() {
  const name = "@google/gemini-cli";
  return installed({ name, version: "0.61.0", folder: "gemini", program: "gemini" });
}
