/** What happens inside a client, as one stream of flat events. */

import type { Link } from "./link.js";
import type { Execution, Kind, Proof } from "./words.js";

/** What happened. */
export type EventName =
  | "connecting"
  | "ready"
  | "session_lost"
  | "session_suspect"
  | "recovering"
  | "connect_failed"
  | "session_replaced"
  | "recovery_failed"
  | "attempt_failed"
  | "resuming"
  | "resumed"
  | "listener_on"
  | "listener_off"
  | "restore_failed"
  | "tool_dropped"
  | "message_dropped"
  | "server_stderr"
  | "login_needed"
  | "login_done"
  | "token_refreshed"
  | "login_lost"
  | "call_finished"
  | "closed";

/** One event. Members that do not apply are not there. No event holds a secret. */
export interface Event {
  /** What happened. */
  readonly event: EventName;
  /** When, in milliseconds since the Unix epoch. */
  readonly atMs: number;
  /** Which server: the origin and path of its URL. A part of the path that looks like a key is `[redacted]`. */
  readonly server?: string;
  /** The generation of the session. */
  readonly generation?: number;
  /** The method of the call. */
  readonly method?: string;
  /** The tool, prompt or URI of the call. */
  readonly name?: string;
  /** The key of the call. */
  readonly idempotencyKey?: string;
  /** The JSON-RPC id of the attempt. */
  readonly requestId?: number;
  /** Which attempt of the call, from 1; in `call_finished`, how many there were. */
  readonly attempt?: number;
  /** What went wrong. */
  readonly kind?: Kind;
  /** Why it is certain that the attempt, or the call, did not run. */
  readonly proof?: Proof;
  /** The verdict on the attempt, or on the call. */
  readonly execution?: Execution;
  /** What is done about it: `resend`, `recover`, `verify`, `refresh`, `look_up_hints`, `resume`, `surface`, `deliver`. */
  readonly decision?: string;
  /** How long the decision waits first. */
  readonly delayMs?: number;
  /** The status of the answer. */
  readonly httpStatus?: number;
  /** Where a person logs in, with `login_needed`. Whoever opens it logs in for this client: show it to that person alone. */
  readonly url?: string;
  /** More, in words. */
  readonly reason?: string;
}

/** As many as the core holds back for a slow reader. */
const QUEUE = 1_024;

/** Streams that somebody waits on. Nothing else may refer to their clients, and yet those must not be collected. */
const awaited = new Set<EventStream>();

/**
 * Events as they happen, for one reader: `for await (const event of client.events())`. It ends after `closed`.
 *
 * A reader that is more than 1,024 behind loses the oldest, and `dropped` counts them. Waiting for an event does not keep the process
 * alive.
 */
export class EventStream implements AsyncIterableIterator<Event, undefined> {
  readonly #queue: Event[] = [];
  readonly #readers: ((result: IteratorResult<Event, undefined>) => void)[] = [];
  readonly #stop: () => void;
  #dropped = 0;
  #ended = false;

  private constructor(link: Link, closed: boolean) {
    this.#stop = closed ? () => {} : link.listen((event, dropped) => this.#take(event, dropped));
    this.#ended = closed;
  }

  /** @internal */
  static of(link: Link, closed: boolean): EventStream {
    return new EventStream(link, closed);
  }

  /** How many events this reader lost by being slow. */
  get dropped(): number {
    return this.#dropped;
  }

  #take(event: Event, dropped: number): void {
    this.#dropped += dropped;
    const reader = this.#readers.shift();
    if (reader !== undefined) {
      reader({ done: false, value: event });
      if (this.#readers.length === 0) {
        awaited.delete(this);
      }
    } else if (this.#queue.push(event) > QUEUE) {
      this.#queue.shift();
      this.#dropped += 1;
    }
    if (event.event === "closed") {
      this.#end();
    }
  }

  #end(): void {
    this.#ended = true;
    this.#stop();
    awaited.delete(this);
    for (const reader of this.#readers.splice(0)) {
      reader({ done: true, value: undefined });
    }
  }

  /** The next event. */
  next(): Promise<IteratorResult<Event, undefined>> {
    const event = this.#queue.shift();
    if (event !== undefined) {
      return Promise.resolve({ done: false, value: event });
    }
    if (this.#ended) {
      return Promise.resolve({ done: true, value: undefined });
    }
    awaited.add(this);
    return new Promise((resolve) => this.#readers.push(resolve));
  }

  /** Stops listening. */
  return(): Promise<IteratorResult<Event, undefined>> {
    this.#queue.length = 0;
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
