// The build: koffi by `npm ci` from package-lock.json, into the folder named on the command line.
//
// Separate because a machine without npm or without a registry cannot have the package, and that is no fault of the
// binding: the reason is left in the file `not-installed`, the trainer's hello says it, and every level is skipped by
// name. Anything else that npm dislikes (a changed package, a lock that does not fit) fails the build. Nothing is
// downloaded again while the lock stays the same, and no package's own scripts are run.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const [folder] = process.argv.slice(2);
const here = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname);
const UNREACHABLE = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTCACHED|E401|E403|E404|E5\d\d)\b/;

const complete = path.join(folder, "installed.json");
const note = path.join(folder, "not-installed");
const lock = fs.readFileSync(path.join(here, "package-lock.json"), "utf8");

function install() {
  fs.rmSync(note, { force: true });
  if (fs.existsSync(complete) && fs.readFileSync(complete, "utf8") === lock) return 0;
  for (const file of ["package.json", "package-lock.json"]) fs.copyFileSync(path.join(here, file), path.join(folder, file));
  const flags = ["--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"];
  const npm = spawnSync("npm", ["ci", ...flags], { cwd: folder, encoding: "utf8" });
  if (npm.error) return skip(`npm cannot be started (${npm.error.code}); install npm, it brings the package koffi`);
  if (npm.status !== 0) {
    process.stderr.write(npm.stderr);
    const why = UNREACHABLE.exec(npm.stderr)?.[0];
    return why ? skip(`npm ci could not fetch the package koffi (${why})`) : 1;
  }
  fs.writeFileSync(complete, lock);
  return 0;
}

function skip(reason) {
  fs.writeFileSync(note, reason);
  process.stdout.write(`skipped: ${reason}\n`);
  return 0;
}

process.exitCode = install();
