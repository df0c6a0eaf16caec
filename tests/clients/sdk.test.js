// The official TypeScript SDK, version 1, as a client over stdio.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";

import { load, newHome, nothingIsLeft, server, toolNames } from "./support.js";

const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = load("@modelcontextprotocol/sdk/client/stdio.js");

describe("TypeScript SDK v1", () => {
  let home, client, transport;

  beforeEach(async () => {
    home = newHome();
    transport = new StdioClientTransport({ command: server, env: home.env, cwd: home.path });
    client = new Client({ name: "test", version: "1" });
    await client.connect(transport);
  });

  afterEach(async () => {
    await client.close();
    await nothingIsLeft(home.mark);
    home.remove();
  });

  async function evaluate(code, options) {
    const result = await client.callTool({ name: "evaluate-lisp", arguments: { code } }, undefined, options);
    return { text: result.content[0].text, isError: result.isError };
  }

  test("connects and learns whom it talks to", async () => {
    assert.equal(client.getServerVersion().name, "cl-mcp-server");
    assert.ok(client.getInstructions().length < 2000);
    assert.deepEqual(await client.ping(), {});
  });

  test("finds the tools", async () => {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name).sort(), toolNames);
  });

  test("evaluates, and the session remembers", async () => {
    assert.deepEqual(await evaluate("(+ 1 2)"), { text: "=> 3", isError: false });
    await evaluate("(defvar *kept* 42)");
    assert.deepEqual(await evaluate("*kept*"), { text: "=> 42", isError: false });
  });

  test("gets a Lisp error as a tool result", async () => {
    const { text, isError } = await evaluate("(car 42)");
    assert.match(text, /^\[ERROR\] TYPE-ERROR\nThe value 42 is not of type LIST\./);
    assert.equal(isError, true);
  });

  test("gets an unknown tool as a protocol error", async () => {
    await assert.rejects(client.callTool({ name: "no-such-tool" }), { code: -32602 });
  });

  test("cancels an endless evaluation and goes on", async () => {
    const abort = new AbortController();
    await evaluate("(defvar *kept* 42)");
    const endless = evaluate("(loop)", { signal: abort.signal });
    setImmediate(() => abort.abort("enough"));
    await assert.rejects(endless, /enough/);
    assert.deepEqual(await evaluate("*kept*", { timeout: 20_000 }), { text: "=> 42", isError: false });
  });

  test("gives up waiting for an endless evaluation and goes on", async () => {
    await assert.rejects(evaluate("(loop)", { timeout: 200 }), { code: -32001 });
    assert.deepEqual(await evaluate("(+ 1 2)", { timeout: 20_000 }), { text: "=> 3", isError: false });
  });

  // The SDK closes the server's input, after 2 s sends SIGTERM, after 2 s more SIGKILL.
  test("disconnects at once when nothing runs", async () => {
    await evaluate("(+ 1 2)");
    assert.ok((await secondsToClose()) < 2, "the SDK had to send a signal");
  });

  test("disconnects during an evaluation without having to kill", async () => {
    const endless = evaluate("(loop)");
    endless.catch(() => {}); // it is lost with the connection
    assert.ok((await secondsToClose()) < 4, "the SDK had to kill the server");
  });

  async function secondsToClose() {
    const begin = performance.now();
    await client.close();
    return (performance.now() - begin) / 1000;
  }
});
