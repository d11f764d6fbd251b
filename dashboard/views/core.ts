/**
 * The code that the page always has. `deno task gen` lets the page's other files import it, so that
 * the bundler keeps it in two files, the state and what is drawn, and not in one for each set of
 * users.
 */

import "../state/browser/alerts.ts";
import "../state/browser/offline.ts";
import "../state/start.ts";
import "../components/bus_down.tsx";
import "../components/theme_choice.tsx";
import "./attention.tsx";
import "./mesh.tsx";
