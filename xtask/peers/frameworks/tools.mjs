// The tools of the small servers here on frameworks for Node, and what each of them writes into the ledger. Copied beside the packages, with
// common.mjs, so that a server imports its framework as its users do.
import { setTimeout as sleep } from "node:timers/promises";

import { write } from "./common.mjs";

// The first says nothing of itself, so it may change something; the next two say what they are.
export const TOOLS = {
    poke: { description: "May change something." },
    peek: { description: "Only reads.", annotations: { readOnlyHint: true } },
    nudge: { description: "May be repeated.", annotations: { readOnlyHint: false, idempotentHint: true } },
    slow: { description: "May change something, and takes a while.", seconds: true },
};

export async function run(name, { seconds } = {}) {
    write(name, "start");
    if (seconds) await sleep(seconds * 1000);
    write(name, "end");
    return `${name} ran`;
}
