/** The choice of the page's theme. */

import { chooseTheme, type Theme, theme } from "../state/browser/theme.ts";
import { Choices } from "./basics.tsx";

export function ThemeChoice() {
  return (
    <Choices<Theme>
      label="Theme"
      chosen={theme.value}
      choose={chooseTheme}
      options={[["device", "As the device"], ["light", "Light"], ["dark", "Dark"]]}
    />
  );
}
