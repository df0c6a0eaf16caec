// Claude Code, in a home of its own: adds the server and connects to it. No login and no network.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { promisify } from "node:util";

import { newHome, nothingIsLeft, packages, server } from "./support.js";

const claude = ["x64", "arm64"]
  .map((cpu) => path.join(packages, `claude-code/node_modules/@anthropic-ai/claude-code-linux-${cpu}/claude`))
  .find((file) => fs.existsSync(file));

describe("Claude Code", () => {
  let home;

  beforeEach(async () => {
    home = newHome();
    await run(["mcp", "add", "--scope", "user", "lisp", "--", server]);
  });

  afterEach(async () => {
    await nothingIsLeft(home.mark);
    home.remove();
  });

  async function run(args, env = {}) {
    const options = { env: { ...home.env, CLAUDE_CONFIG_DIR: path.join(home.path, "claude"), ...env }, cwd: home.path, timeout: 60_000 };
    return (await promisify(execFile)(claude, args, options)).stdout;
  }

  test("connects", async () => {
    assert.match(await run(["mcp", "list"]), /^lisp: .*Connected/m);
  });

  test("connects with the handshake of the older revisions", async () => {
    assert.match(await run(["mcp", "list"], { MCP_PROTOCOL_NEGOTIATION: "legacy" }), /^lisp: .*Connected/m);
  });

  test("describes the server as connected, and removes it", async () => {
    assert.match(await run(["mcp", "get", "lisp"]), /Status:.*Connected/);
    await run(["mcp", "remove", "lisp", "-s", "user"]);
    assert.doesNotMatch(await run(["mcp", "list"]), /lisp/);
  });
});
