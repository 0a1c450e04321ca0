/**
 * The way to the addon and back, for one client: calls that wait, questions of the core, events.
 *
 * Nothing is decided here. The addon delivers batches of messages in the order in which things happened; each is handed to whoever
 * waits for it. While a call waits, the client is held and so is the event loop; else neither is.
 */

import { AsyncResource } from "node:async_hooks";

import { onAbort } from "./abort.js";
import { camelCase } from "./camel-case.js";
import type { Event } from "./events.js";
import { MessageKind } from "./messages.js";
import { type Message, type Native, NativeClient } from "./native.js";
import { answerOAuth } from "./oauth.js";
import { type Hooks, type Progress, plainHeaders } from "./options.js";

/** How a call ended: the JSON of its result, or of its failure. */
export interface Outcome {
  readonly ok: boolean;
  readonly text: string;
}

interface Waiting {
  resolve(outcome: Outcome): void;
  reject(reason: unknown): void;
  readonly onprogress: ((progress: Progress) => unknown) | undefined;
  /** Stops listening to the signal. */
  readonly deaf: (() => void) | undefined;
}

/** What goes along with a call on this side. */
export interface Side {
  readonly signal?: AbortSignal | undefined;
  readonly onprogress?: ((progress: Progress) => unknown) | undefined;
}

/** Clients with a call that waits. Nothing else may refer to them, and yet they must not be collected. */
const busy = new Set<Link>();

export class Link {
  readonly native: Native;
  readonly #hooks: Hooks;
  readonly #waiting = new Map<number, Waiting>();
  readonly #questions = new Map<number, AbortController>();
  readonly #listeners = new Set<(event: Event, dropped: number) => void>();
  #calls = 0;

  constructor(hooks: Hooks) {
    this.#hooks = hooks;
    // The addon holds the function for as long as it lives; through it, it must not hold us, or no client would ever be collected.
    const weak = new WeakRef<Link>(this);
    this.native = new NativeClient((batch) => {
      const link = weak.deref();
      if (link !== undefined) {
        link.#deliver(batch);
      }
    });
    const { onEvent } = hooks;
    if (onEvent !== undefined) {
      this.listen((event) => guarded("onEvent", () => onEvent(event)));
    }
  }

  /** Starts a call and waits for its outcome, or for the signal, whose own reason is thrown. */
  call(start: (id: number) => void, { signal, onprogress }: Side = {}): Promise<Outcome> {
    return new Promise<Outcome>((resolve, reject) => {
      signal?.throwIfAborted();
      this.#calls = (this.#calls + 1) >>> 0;
      const id = this.#calls;
      start(id);
      this.#wait(id, {
        resolve,
        reject,
        // In the context of the caller, as if it were called from there.
        onprogress: onprogress === undefined ? undefined : AsyncResource.bind(onprogress),
        deaf: signal === undefined ? undefined : onAbort(signal, () => this.#cancel(id, signal.reason)),
      });
    });
  }

  /** Hears every event from now on, until the returned function is called. */
  listen(listener: (event: Event, dropped: number) => void): () => void {
    this.#listeners.add(listener);
    this.native.wantEvents(true);
    return () => {
      this.#listeners.delete(listener);
      this.native.wantEvents(this.#listeners.size > 0);
    };
  }

  #wait(id: number, waiting: Waiting): void {
    this.#waiting.set(id, waiting);
    if (this.#waiting.size === 1) {
      busy.add(this);
      this.native.hold(true);
    }
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined) {
      waiting.deaf?.();
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) {
        busy.delete(this);
        this.native.hold(false);
      }
    }
    return waiting;
  }

  #cancel(id: number, reason: unknown): void {
    const waiting = this.#take(id);
    if (waiting !== undefined) {
      this.native.cancel(id);
      waiting.reject(reason);
    }
  }

  #deliver(batch: Message[]): void {
    for (const { kind, id, text } of batch) {
      switch (kind) {
        case MessageKind.result:
          this.#take(id)?.resolve({ ok: true, text });
          break;
        case MessageKind.failure:
          this.#take(id)?.resolve({ ok: false, text });
          break;
        case MessageKind.panic:
          this.#take(id)?.reject(
            new Error("oncewire panicked, which is a fault in it; the call may have been executed"),
          );
          break;
        case MessageKind.progress:
          this.#progress(id, text);
          break;
        case MessageKind.event:
          this.#event(text, id);
          break;
        case MessageKind.notification:
          guarded("onNotification", () => this.#hooks.onNotification?.(JSON.parse(text)));
          break;
        case MessageKind.withdrawn:
          this.#questions.get(id)?.abort();
          this.#questions.delete(id);
          break;
        default:
          void this.#answer(kind, id, text);
      }
    }
  }

  /** A callback of a call that throws fails that call, and nothing else. */
  #progress(id: number, text: string): void {
    const onprogress = this.#waiting.get(id)?.onprogress;
    if (onprogress === undefined) {
      return;
    }
    const failed = (reason: unknown) => this.#cancel(id, reason);
    try {
      const result = onprogress(JSON.parse(text) as Progress);
      if (isThenable(result)) {
        result.then(undefined, failed);
      }
    } catch (reason) {
      failed(reason);
    }
  }

  #event(text: string, dropped: number): void {
    const event = camelCase<Event>(JSON.parse(text) as object);
    for (const listener of [...this.#listeners]) {
      listener(event, dropped);
    }
  }

  async #answer(kind: number, id: number, text: string): Promise<void> {
    const asked = new AbortController();
    this.#questions.set(id, asked);
    try {
      const answer = await this.#ask(kind, text, asked.signal);
      const json = JSON.stringify(answer);
      if (json === undefined) {
        throw new TypeError("the callback gave nothing that JSON can say");
      }
      this.native.answer(id, true, json);
    } catch (error) {
      this.native.answer(id, false, error instanceof Error ? error.message : String(error));
    } finally {
      this.#questions.delete(id);
    }
  }

  async #ask(kind: number, text: string, signal: AbortSignal): Promise<unknown> {
    const { token, oauth, headers, onSampling, onElicitation, onRoots } = this.#hooks;
    switch (kind) {
      case MessageKind.oauth:
        return oauth === undefined ? undefined : answerOAuth(oauth, JSON.parse(text));
      case MessageKind.token:
        return token?.((JSON.parse(text) as string | null) ?? undefined);
      case MessageKind.headers:
        return plainHeaders(await headers?.());
      case MessageKind.sampling:
        return onSampling?.(JSON.parse(text), { signal });
      case MessageKind.elicitation:
        return onElicitation?.(JSON.parse(text), { signal });
      case MessageKind.roots:
        return onRoots?.({ signal });
      default:
        throw new TypeError(`the addon asks ${kind}, which this version does not know`);
    }
  }
}

/** A callback that belongs to no call: what it throws is a warning, since there is nobody to throw it to. */
function guarded(name: string, call: () => unknown): void {
  const warn = (reason: unknown) => {
    const text = reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
    process.emitWarning(`${name} failed: ${text}`, "OncewireWarning");
  };
  try {
    const result = call();
    if (isThenable(result)) {
      result.then(undefined, warn);
    }
  } catch (reason) {
    warn(reason);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}
