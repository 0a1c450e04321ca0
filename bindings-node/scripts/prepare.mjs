// Runs when the package is installed from a folder or a clone, and before it is packed: builds the addon (Rust must be there) and the
// TypeScript. Installing what was published runs nothing.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

function npm(...args) {
  // The npm that runs us, so that its version and settings are the same.
  const cli = process.env.npm_execpath;
  const [command, first] = cli ? [process.execPath, [cli]] : ["npm", []];
  const { status, error } = spawnSync(command, [...first, ...args], {
    cwd: root,
    stdio: "inherit",
    // Of an outer `npm install` with flags of its own, which are not meant for us.
    env: Object.fromEntries(
      Object.entries(process.env).filter(
        ([name]) => !/^npm_config_(global|install_links|save|package_lock|prefix|local_prefix)/i.test(name),
      ),
    ),
  });
  if (status !== 0) {
    console.error(error ?? `npm ${args.join(" ")} failed`);
    process.exit(status || 1);
  }
}

const built = existsSync(join(root, "dist", "index.js")) && readdirSync(root).some((name) => name.endsWith(".node"));
if (built && ["pack", "publish"].includes(process.env.npm_command)) {
  process.exit(0);
}
const hasTools = ["napi", "tsc"].every((tool) => existsSync(join(root, "node_modules", ".bin", tool)));
if (!hasTools) {
  npm("ci", "--ignore-scripts", "--no-audit", "--no-fund");
}
npm("run", "build");
