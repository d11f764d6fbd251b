/** Keeps the page usable if a view cannot show what the daemon sent. */

import type { ComponentChildren } from "preact";
import { useErrorBoundary } from "preact/hooks";
import { Empty } from "./basics.tsx";

/** An older daemon may leave out a field that a view needs. */
export function Boundary({ children }: { children: ComponentChildren }) {
  const [error, reset] = useErrorBoundary();
  if (error === undefined || error === null) return <>{children}</>;
  return (
    <Empty title="This view is not available">
      <p>
        The page cannot show what the daemon sent. The daemon may have another version than the
        page.
      </p>
      <button type="button" onClick={reset}>Try again</button>
    </Empty>
  );
}
