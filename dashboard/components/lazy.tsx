/** Components that are loaded when they are first shown. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Failed, Skeleton } from "./basics.tsx";

/** Loads a component with `load`, and shows it. A failed load can be tried again. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined;
  return function Lazy(props: P) {
    const [, showLoaded] = useState(loaded);
    const [error, setError] = useState<unknown>();
    const start = () => {
      setError(undefined);
      load().then((component) => {
        loaded = component;
        showLoaded(() => component);
      }, () => setError(new Error("A file of this page could not be loaded. Reload the page.")));
    };
    useEffect(() => {
      if (!loaded) start();
    }, []);
    const Component = loaded;
    if (Component) return <Component {...props} />;
    return error === undefined ? <Skeleton /> : <Failed error={error} retry={start} />;
  };
}
