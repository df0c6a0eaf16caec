// What the client tests share: the program, the clients' packages, throw-away homes, and a look for processes left behind.

import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const root = path.resolve(import.meta.dirname, "../..");

export const server = path.resolve(process.env.CL_MCP_SERVER ?? path.join(root, "build/cl-mcp-server"));
export const packages = process.env.CLIENT_PACKAGES;

/** Loads a module of the packages, which live in build/, where `import` does not look. */
export const load = createRequire(path.join(packages, "package.json"));

export const toolNames = ["checkpoints", "continue-evaluation", "evaluate-lisp", "interrupt-evaluation", "list-definitions", "load-system",
  "read-output", "reset-session", "sessions", "undo"];

/** A new home directory and an environment in it, with a mark that every process of the test inherits. */
export function newHome() {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "cl-mcp-client-"));
  const mark = path.basename(home);
  return {
    path: home,
    mark,
    env: { PATH: process.env.PATH, LANG: "C.UTF-8", HOME: home, CL_MCP_TEST_MARK: mark },
    remove: () => fs.rmSync(home, { recursive: true, force: true }),
  };
}

/** The living processes that carry the mark, without ourselves; a zombie does not live. */
function processesOf(mark) {
  return fs.readdirSync("/proc").filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
    try {
      const marked = fs.readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`CL_MCP_TEST_MARK=${mark}`);
      return marked && !/^State:\s+[ZX]/m.test(fs.readFileSync(`/proc/${pid}/status`, "utf8"));
    } catch {
      return false; // gone meanwhile
    }
  });
}

/** Resolves when no process of the test is left; throws when some still live after two seconds. */
export async function nothingIsLeft(mark) {
  const deadline = Date.now() + 2000;
  while (processesOf(mark).length > 0) {
    if (Date.now() > deadline) throw new Error(`processes are left behind: ${processesOf(mark)}`);
    await sleep(10); // no event announces the end of a process that is not our child
  }
}
