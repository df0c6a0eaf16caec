// The MCP Inspector's command line: one process and one call each time.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";

import { newHome, nothingIsLeft, packages, server, toolNames } from "./support.js";

const launcher = path.join(packages, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");

describe("MCP Inspector", () => {
  let home;

  beforeEach(() => {
    home = newHome();
  });

  afterEach(async () => {
    await nothingIsLeft(home.mark);
    home.remove();
  });

  /** Runs the Inspector; the server inherits the mark through -e, for the Inspector cleans the environment. */
  function inspect(...args) {
    const mark = `CL_MCP_TEST_MARK=${home.mark}`;
    const command = [launcher, "--cli", server, "-e", mark, "-e", `HOME=${home.path}`, ...args, "--format", "json", "-q"];
    return new Promise((resolve) => {
      const child = spawn(process.execPath, command, { env: home.env, cwd: home.path, timeout: 60_000 });
      let out = "";
      child.stdout.on("data", (data) => (out += data));
      child.stderr.on("data", (data) => process.stderr.write(data));
      child.on("close", (code) => resolve({ code, result: out ? JSON.parse(out).result : undefined }));
      child.stdin.end();
    });
  }

  const evaluate = (code, ...more) =>
    inspect("--method", "tools/call", "--tool-name", "evaluate-lisp", "--tool-arg", `code=${code}`, ...more);

  for (const era of ["legacy", "auto"]) {
    test(`finds the tools (protocol era ${era})`, async () => {
      const { code, result } = await inspect("--protocol-era", era, "--method", "tools/list");
      assert.equal(code, 0);
      assert.deepEqual(result.tools.map((tool) => tool.name).sort(), toolNames);
    });
  }

  test("finds the schemas portable", async () => {
    assert.equal((await inspect("--method", "tools/list", "--strict")).code, 0);
  });

  test("evaluates", async () => {
    const { code, result } = await evaluate("(+ 1 2)");
    assert.equal(code, 0);
    assert.deepEqual(result, { content: [{ type: "text", text: "=> 3" }], isError: false });
  });

  test("gets a Lisp error as a tool result", async () => {
    const { code, result } = await evaluate("(car 42)");
    assert.equal(code, 5); // the Inspector's exit code for isError
    assert.match(result.content[0].text, /^\[ERROR\] TYPE-ERROR\n/);
  });

  test("makes two hundred calls, eight at a time, without an error", async () => {
    const { code, result } = await evaluate("(+ 1 2)", "--load", "--load-requests", "200", "--load-concurrency", "8");
    assert.equal(code, 0);
    assert.deepEqual([result.ok, result.toolErrors, result.errors], [200, 0, 0]);
  });
});
