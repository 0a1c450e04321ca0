/**
 * Waiting for what comes by itself: events, notifications, warnings.
 *
 * An idle client does not hold the event loop, and `AbortSignal.timeout` does not either: a test that merely awaits what such a client
 * delivers is over as soon as the loop is empty. What is awaited here holds the loop, for a bounded time.
 */

import { inspect } from "node:util";

/** Far more than anything takes, on a machine that has other things to do as well. */
const LIMIT_MS = 10_000;

/** Awaits this and holds the event loop meanwhile; when it takes too long, the wait fails and says for what it was. */
export async function held<T>(what: string, promise: Promise<T>, soFar = () => ""): Promise<T> {
  // Made here, where its stack leads to the test.
  const error = new Error();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      error.message = `waited ${LIMIT_MS} ms for ${what}${soFar()}`;
      reject(error);
    }, LIMIT_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What came by itself, in order. A wait sees what came before it began as well. */
export class Inbox<T> {
  readonly all: T[] = [];
  readonly #checks = new Set<() => void>();

  /** Something came. */
  readonly put = (one: T): void => {
    this.all.push(one);
    for (const check of this.#checks) {
      check();
    }
  };

  /** Waits until there is one like this, and gives the first. */
  async first(what: string, like: (one: T) => boolean = () => true): Promise<T> {
    return (await this.until(what, (all) => all.some(like))).find(like) as T;
  }

  /** Waits until this is so of all that came, and gives all. */
  async until(what: string, so: (all: readonly T[]) => boolean): Promise<readonly T[]> {
    let check = () => {};
    const found = new Promise<void>((resolve) => {
      check = () => {
        if (so(this.all)) {
          resolve();
        }
      };
    });
    this.#checks.add(check);
    try {
      check();
      await held(what, found, () => `; so far ${inspect(this.all)}`);
    } finally {
      this.#checks.delete(check);
    }
    return this.all;
  }
}
