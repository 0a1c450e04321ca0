/**
 * Calls that listen to the same signal share one listener: a host may give one signal to hundreds of calls, and Node warns of a leak
 * when an `AbortSignal` has more than ten.
 */

interface Shared {
  readonly cancels: Set<() => void>;
  readonly fire: () => void;
}

const shared = new WeakMap<AbortSignal, Shared>();

/** Calls `cancel` when the signal is aborted, until the returned function is called. */
export function onAbort(signal: AbortSignal, cancel: () => void): () => void {
  let all = shared.get(signal);
  if (all === undefined) {
    const cancels = new Set<() => void>();
    all = {
      cancels,
      fire: () => {
        shared.delete(signal);
        for (const one of [...cancels]) {
          one();
        }
      },
    };
    shared.set(signal, all);
    signal.addEventListener("abort", all.fire, { once: true });
  }
  const { cancels, fire } = all;
  cancels.add(cancel);
  return () => {
    cancels.delete(cancel);
    if (cancels.size === 0 && shared.get(signal)?.cancels === cancels) {
      shared.delete(signal);
      signal.removeEventListener("abort", fire);
    }
  };
}
