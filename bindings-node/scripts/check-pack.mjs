// What would be published: only what a user needs, and it works in an empty project, as one package and as one for the platform beside
// the main one. Nothing is downloaded.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const folder = mkdtempSync(join(tmpdir(), "oncewire-pack-"));
const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ["npm"];
const run = (cwd, command, ...args) =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
const runNpm = (cwd, ...args) => run(cwd, npm[0], ...npm.slice(1), ...args);

/** Packs a folder; gives the names of the files in it, and where it is. */
function pack(cwd) {
  const packed = JSON.parse(runNpm(cwd, "pack", "--json", "--ignore-scripts", "--pack-destination", folder));
  const [{ files, filename, size }] = Array.isArray(packed) ? packed : Object.values(packed);
  return { files: files.map(({ path }) => path).sort(), path: join(folder, filename.replace(/^@.*\//, "")), size };
}

/** Uses the package in both module systems. */
function use(project) {
  const script =
    "const { connect, NotExecutedError: E } = o; connect('http://127.0.0.1:9', { connectPatience: 0 })" +
    ".catch((e) => console.log(e instanceof E, e.kind));";
  const common = run(
    project,
    process.execPath,
    "-e",
    `const o = require("oncewire"); require("oncewire/transport"); ${script}`,
  );
  const esm = `import * as o from "oncewire"; import "oncewire/transport"; ${script}`;
  assert.equal(common, "true connect\n");
  assert.equal(run(project, process.execPath, "--input-type=module", "-e", esm), "true connect\n");
  assert.match(runNpm(project, "exec", "--offline", "--no", "--", "oncewire", "--version"), /^oncewire \d/);
}

function install(project, ...packages) {
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "project", version: "1.0.0", private: true }));
  runNpm(project, "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", ...packages);
}

try {
  const main = pack(root);
  const allowed =
    /^(dist\/[\w/-]+\.(js|d\.ts)|esm\/\w+\.(mjs|d\.mts)|docs\/[\w-]+\.md|native\.(js|d\.ts)|oncewire\.[\w-]+\.node|package\.json|README\.md|LICENSE-(APACHE|MIT))$/;
  assert.deepEqual(
    main.files.filter((path) => !allowed.test(path)),
    [],
    "files that do not belong there",
  );
  for (const path of [
    "dist/index.js",
    "dist/index.d.ts",
    "dist/command.js",
    "dist/transport/index.js",
    "esm/index.mjs",
    "esm/index.d.mts",
    "native.js",
    "native.d.ts",
    "README.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "docs/transport.md",
  ]) {
    assert.ok(main.files.includes(path), `${path} is missing`);
  }
  const addons = readdirSync(root).filter((name) => name.endsWith(".node"));
  assert.equal(addons.length, 1, `build it first: ${addons}`);

  install(join(folder, "whole"), main.path);
  use(join(folder, "whole"));

  // The packages for the platforms, as they are published beside a main package without addon.
  // On a copy: the command may write into the package.json that it reads.
  copyFileSync(join(root, "package.json"), join(folder, "package.json"));
  run(folder, process.execPath, join(root, "node_modules", "@napi-rs", "cli", "dist", "cli.js"), "create-npm-dirs");
  const { napi, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const platforms = readdirSync(join(folder, "npm"));
  assert.equal(platforms.length, napi.targets.length);
  const [, here] = /^oncewire\.(.+)\.node$/.exec(addons[0]);
  for (const platform of platforms) {
    const json = JSON.parse(readFileSync(join(folder, "npm", platform, "package.json"), "utf8"));
    assert.equal(json.name, `oncewire-${platform}`);
    assert.equal(json.version, version);
    assert.ok(json.os?.length === 1 && json.cpu?.length === 1, JSON.stringify(json));
    assert.equal(json.libc?.[0], { gnu: "glibc", musl: "musl" }[platform.split("-")[2]]);
  }
  copyFileSync(join(root, addons[0]), join(folder, "npm", here, addons[0]));
  const native = pack(join(folder, "npm", here));
  assert.deepEqual(
    native.files.filter((path) => path !== "README.md"),
    [addons[0], "package.json"],
  );
  const project = join(folder, "parts");
  install(project, main.path, native.path);
  rmSync(join(project, "node_modules", "oncewire", addons[0]));
  assert.ok(existsSync(join(project, "node_modules", `oncewire-${here}`, addons[0])));
  use(project);
  console.log(
    `pack: ${main.files.length} files, ${Math.round(main.size / 1_024)} kB with the addon; ${platforms.length} platforms; ok`,
  );
} finally {
  rmSync(folder, { recursive: true });
}
