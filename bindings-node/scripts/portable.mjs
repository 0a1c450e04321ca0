// Builds the addon for glibc 2.17, which every Linux of the last ten years has, by zig: `pip install cargo-zigbuild ziglang` first.
// Takes the Rust target as its argument, by default the one of x64.

import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const names = { "x86_64-unknown-linux-gnu": "linux-x64-gnu", "aarch64-unknown-linux-gnu": "linux-arm64-gnu" };
const GLIBC = [2, 17];

const target = process.argv[2] ?? "x86_64-unknown-linux-gnu";
const name = names[target];
if (name === undefined) {
  throw new Error(`${target}: the addon is built for old glibc on ${Object.keys(names)}`);
}
const run = (command, ...args) =>
  execFileSync(command, args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1 << 28,
    stdio: ["ignore", "pipe", "inherit"],
  });
run("cargo", "zigbuild", "--release", "-p", "oncewire-node", "--target", `${target}.${GLIBC.join(".")}`);
const { target_directory } = JSON.parse(run("cargo", "metadata", "--format-version=1", "--no-deps"));
const from = join(target_directory, target, "release", "liboncewire_node.so");
const to = join(root, `oncewire.${name}.node`);

// What it asks of glibc stands in it as text.
const needs = [...readFileSync(from, "latin1").matchAll(/GLIBC_(\d+)\.(\d+)/g)].map(([, major, minor]) => [
  Number(major),
  Number(minor),
]);
const newest = needs.sort((a, b) => a[0] - b[0] || a[1] - b[1]).at(-1);
if (newest[0] > GLIBC[0] || newest[1] > GLIBC[1]) {
  throw new Error(`it needs GLIBC_${newest.join(".")}`);
}
copyFileSync(from, to);
console.log(`${to}: glibc ${newest.join(".")}`);
