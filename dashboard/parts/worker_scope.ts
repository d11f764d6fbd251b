/** The parts of `ServiceWorkerGlobalScope` in use; the library for pages lacks them. */

export interface WorkerScope {
  readonly registration: {
    /** The address of the page. */
    readonly scope: string;
    readonly navigationPreload: { enable(): Promise<void> };
    readonly pushManager: PushManager;
    showNotification(title: string, options: ShownOptions): Promise<void>;
  };
  readonly clients: {
    claim(): Promise<void>;
    matchAll(options: { type: "window" }): Promise<readonly WindowClient[]>;
    openWindow(url: string): Promise<unknown>;
  };
  skipWaiting(): Promise<void>;
  addEventListener(type: "install" | "activate", run: (event: WorkerEvent) => void): void;
  addEventListener(type: "fetch", run: (event: RequestEvent) => void): void;
  addEventListener(type: "push", run: (event: PushedEvent) => void): void;
  addEventListener(
    type: "notificationclick" | "notificationclose",
    run: (event: ChosenEvent) => void,
  ): void;
  addEventListener(type: "pushsubscriptionchange", run: (event: RenewedEvent) => void): void;
}

export interface WorkerEvent {
  waitUntil(work: Promise<unknown>): void;
}

export interface RequestEvent extends WorkerEvent {
  readonly request: Request;
  readonly preloadResponse: Promise<Response | undefined>;
  respondWith(response: Promise<Response>): void;
}

interface PushedEvent extends WorkerEvent {
  readonly data: { text(): string } | null;
}

export interface ChosenEvent extends WorkerEvent {
  /** The name of the button; empty for the notification itself. */
  readonly action: string;
  readonly notification: { readonly data: unknown; close(): void };
}

export interface RenewedEvent extends WorkerEvent {
  readonly oldSubscription: PushSubscription | null;
  readonly newSubscription: PushSubscription | null;
}

interface WindowClient {
  readonly url: string;
  focus(): Promise<unknown>;
  postMessage(text: string): void;
}

/** Options that the library for pages lacks. */
export interface ShownOptions extends NotificationOptions {
  readonly actions?: readonly { readonly action: string; readonly title: string }[];
  readonly timestamp?: number;
}
