#!/usr/bin/env node
/** The command `oncewire`, as `npx oncewire` runs it: in this process, which does nothing else and ends with it. */

import native from "../native.js";

// The command listens for these itself. Node's own handlers would be called too, and raise the same signal once more, which the command
// takes for the impatience of a second Ctrl+C; where somebody listens they are not there.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {});
}
process.exit(native.runCommand(["oncewire", ...process.argv.slice(2)]));
