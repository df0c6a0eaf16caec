"""Whatever comes down the pipe gets its error, or is refused by a documented limit, and the next request is answered."""

import json
import os
import subprocess
import unittest

import support

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
MEBIBYTE = 1 << 20

# src/base/limits.h
MESSAGE_BYTES = 16 * MEBIBYTE
JSON_DEPTH = 64
BATCH_MESSAGES = 1000
QUEUED_CALLS = 10_000
UNREAD_REPLY_BYTES = 16 * MEBIBYTE

ODD_VALUES = [None, True, 0, -1.5, 10 ** 30, "", "text", [], [1], {}, {"a": 1}]


class HostileInput(support.TestCase):
    def setUp(self):
        self.server = self.start(revision="2025-06-18")

    def assert_refused(self, line, codes=(PARSE_ERROR,)):
        """One error without an id, then business as usual."""
        self.server.send_bytes(line + b"\n")
        reply = self.server.receive()
        self.assertIn(reply["error"]["code"], codes, line[:100])
        self.assertIsNone(reply["id"])
        self.assertEqual(self.server.request("ping")["result"], {})

    def test_text_that_is_no_json_is_a_parse_error(self):
        for line in (b"hello", b"{", b"}", b'{"jsonrpc":"2.0","id":1,"method":"ping"', b"{'a': 1}", b'{"a" 1}', b"[1,]",
                     b'{"a":1,}', b'"open', b"nul", b"+1", b"0x10", b"NaN", b"\\", b"//", b'{"a":1} trailing',
                     b'{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}',
                     b'"\\x41"', b'"tab\there"', b"Content-Length: 40", b"GET / HTTP/1.1"):
            with self.subTest(line=line):
                self.assert_refused(line)

    def test_invalid_utf8_is_a_parse_error(self):
        for sequence in (b"\xff", b"\xc3", b"\xc0\xaf", b"\xe2\x28\xa1", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"):
            with self.subTest(sequence=sequence):
                self.assert_refused(b'{"jsonrpc":"2.0","id":1,"method":"' + sequence + b'"}')
                self.assert_refused(sequence)

    def test_a_byte_order_mark_is_refused_or_passed_over(self):
        self.server.send_bytes(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        reply = self.server.receive()
        self.assertTrue(reply.get("result") == {} or reply["error"]["code"] == PARSE_ERROR, reply)
        self.assert_alive(self.server)

    def test_200000_nested_arrays_are_refused(self):
        nest = b"[" * 200_000 + b"]" * 200_000
        self.assert_refused(nest, (PARSE_ERROR, INVALID_REQUEST))
        self.assert_refused(b"[" * 200_000, (PARSE_ERROR, INVALID_REQUEST))
        self.assert_refused(b'{"a":' * 200_000 + b"1" + b"}" * 200_000, (PARSE_ERROR, INVALID_REQUEST))
        self.server.send_bytes(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":' + nest + b"}}\n")
        self.assertIn(self.server.receive()["error"]["code"], (PARSE_ERROR, INVALID_REQUEST))
        self.assert_alive(self.server)

    def test_nesting_is_allowed_up_to_its_limit(self):
        def ping(depth):  # the message and its params are two levels of their own
            nest = b"[" * (depth - 2) + b"]" * (depth - 2)
            self.server.send_bytes(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":' + nest + b"}}\n")
            return self.server.receive()

        self.assertEqual(ping(JSON_DEPTH - 2)["result"], {})
        self.assertIn("error", ping(JSON_DEPTH + 2))
        self.assert_alive(self.server)

    def test_a_line_of_64_megabytes_is_refused_and_not_kept(self):
        before = support.resident_megabytes(self.server.pid)
        self.server.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"')
        for _ in range(64):
            self.server.send_bytes(b"x" * MEBIBYTE)
        self.server.send_bytes(b'"}}\n')
        reply = self.server.receive()
        self.assertIn(reply["error"]["code"], (PARSE_ERROR, INVALID_REQUEST))
        self.assertIn("16", json.dumps(reply["error"]), "the error names the limit")
        self.assertEqual(self.server.request("ping")["result"], {})
        if not support.IS_SANITIZED:
            self.assertLess(support.resident_megabytes(self.server.pid) - before, 3 * MESSAGE_BYTES / MEBIBYTE)
        self.assert_alive(self.server)

    def test_a_long_message_below_the_limit_is_served(self):
        text, is_error = self.server.evaluate('(length "%s")' % ("x" * (MESSAGE_BYTES - 4096)))
        self.assertEqual((text, is_error), (f"=> {MESSAGE_BYTES - 4096}", False))

    def test_nul_bytes_are_refused_raw_and_carried_escaped(self):
        self.assert_refused(b"\0")
        self.assert_refused(b'{"jsonrpc":"2.0","id":1,"method":"pi\0ng"}')
        self.assert_refused(b'\0{"jsonrpc":"2.0","id":1,"method":"ping"}')
        self.assertEqual(self.server.evaluate('(length "a\0b")'), ("=> 3", False))

    def test_lone_surrogates_do_not_reach_the_output(self):
        for escape in (b"\\ud800", b"\\udc00", b"\\ud800\\u0041", b"\\ud800\\ud800"):
            with self.subTest(escape=escape):
                self.server.send_bytes(b'{"jsonrpc":"2.0","id":"' + escape + b'","method":"ping"}\n')
                reply = self.server.receive()
                json.dumps(reply, ensure_ascii=False).encode()  # would raise for a surrogate
                self.assert_alive(self.server)

    def test_a_surrogate_pair_is_one_character(self):
        self.server.send_bytes(b'{"jsonrpc":"2.0","id":"\\ud83d\\ude42","method":"ping"}\n')
        self.assertEqual(self.server.receive()["id"], "\N{SLIGHTLY SMILING FACE}")

    def test_duplicate_keys_get_one_reply(self):
        self.server.send_bytes(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","method":"tools/list"}\n')
        self.assertIn(self.server.receive().get("id"), (None, 1, 2))
        self.assert_alive(self.server)

    def test_numbers_beyond_64_bits_never_come_back_changed(self):
        for number in (b"18446744073709551615", b"18446744073709551616", b"-9223372036854775809",
                       b"123456789012345678901234567890", b"1e400", b"-1e400", b"1e-400", b"0." + b"1" * 400,
                       b"1" * 100_000):
            with self.subTest(number=number[:40]):
                self.server.send_bytes(b'{"jsonrpc":"2.0","id":' + number + b',"method":"ping"}\n')
                reply = self.server.receive()
                if "error" in reply:
                    self.assertIsNone(reply["id"])
                else:
                    self.assertEqual(reply["id"], int(number))
                self.server.send_bytes(b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"n":' + number + b"}}\n")
                self.assertIn(self.server.receive()["id"], (9, None))
        self.assert_alive(self.server)

    def test_wrong_types_in_every_field_get_one_reply_each(self):
        good = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
            "tools/list": {"cursor": "x", "_meta": {}},
            "tools/call": {"name": "evaluate-lisp", "arguments": {"code": "1", "package": "CL-USER", "session": "default"},
                           "_meta": {"progressToken": 1}},
            "ping": {"_meta": {}},
        }
        for method, params in good.items():
            for path in paths(params):
                for value in ODD_VALUES:
                    with self.subTest(method=method, path=path, value=value):
                        reply = self.server.request(method, replaced(params, path, value))
                        self.assertNotEqual("result" in reply, "error" in reply)
            for value in ODD_VALUES:
                with self.subTest(method=method, params=value):
                    request_id = self.server.send_request(method, None)
                    self.server.wait_for(request_id)
                    self.server.send({"id": "odd", "method": method, "params": value})
                    self.server.wait_for("odd")
        self.assert_alive(self.server)

    def test_wrong_types_in_notifications_are_passed_over(self):
        for method in ("notifications/initialized", "notifications/cancelled", "notifications/unknown"):
            for value in ODD_VALUES:
                for params in ({"requestId": value}, {"requestId": 1, "reason": value}, {"unknown": value}):
                    self.server.send({"method": method, "params": params})
        request_id = self.server.send_request("ping")
        self.assertEqual(self.server.receive()["id"], request_id)
        self.assert_alive(self.server)

    def test_wrong_types_in_the_envelope_get_one_error_each(self):
        for field in ("jsonrpc", "method"):
            for value in ODD_VALUES:
                if value == "text" and field == "method":
                    continue
                with self.subTest(field=field, value=value):
                    self.server.send({"jsonrpc": "2.0", "id": "me", "method": "ping", field: value})
                    self.assertIn("error", self.server.wait_for("me"))
        self.assert_alive(self.server)

    def test_a_flood_of_requests_is_answered_in_full(self):
        count = 20_000
        lines = b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % number for number in range(count))
        self.server.send_bytes(lines)
        self.assertEqual([self.server.receive()["id"] for _ in range(count)], list(range(count)))

    def test_a_batch_is_bounded(self):
        server = self.start(revision="2025-03-26")

        def send_batch(size):
            server.send([{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in range(size)])
            return server.receive()

        self.assertEqual(len(send_batch(BATCH_MESSAGES)), BATCH_MESSAGES)
        reply = send_batch(BATCH_MESSAGES + 1)
        self.assertEqual(reply["error"]["code"], INVALID_REQUEST)
        self.assert_alive(server)

    def test_the_queue_of_a_session_is_bounded(self):
        self.server.start_endless_evaluation()
        for _ in range(QUEUED_CALLS + 5):
            last = self.server.send_evaluation("1")
        reply = self.server.wait_for(last)
        self.assertTrue("error" in reply or reply["result"]["isError"], reply)
        self.assertRegex(json.dumps(reply), "10,?000")
        self.assertEqual(self.server.request("ping")["result"], {})


class UnreadReplies(support.TestCase):
    def test_a_client_that_does_not_read_is_not_read_from(self):
        """Beyond the limit of unread replies the server stops reading, so its memory is bounded; then it goes on."""
        read_end, write_end = os.pipe()
        server = self.start(revision=None, stdout=write_end)
        os.close(write_end)
        output = os.fdopen(read_end, "rb")
        self.addCleanup(output.close)
        request = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n' * 1000
        sent = 0
        try:
            while sent < 30_000:
                server.send_bytes(request, seconds=2)
                sent += 1000
        except support.Timeout:
            pass
        self.assertLess(sent, 30_000, "the server read everything though nobody reads its replies")
        if not support.IS_SANITIZED:
            self.assertLess(support.resident_megabytes(server.pid), 4 * UNREAD_REPLY_BYTES / MEBIBYTE)
        lines = 0
        while lines < sent and output.readline():
            lines += 1
        self.assertEqual(lines, sent)


class EndOfInput(support.TestCase):
    def run_with(self, data):
        home = self.make_home()
        return subprocess.run([support.PROGRAM], input=data, capture_output=True, cwd=home.cwd,
                              env=home.environment(), timeout=support.EXIT_SECONDS, check=False)

    def test_half_a_message_at_the_end_is_a_parse_error(self):
        done = self.run_with(b'{"jsonrpc":"2.0","id":1,"met')
        self.assertEqual(done.returncode, 0)
        self.assertEqual([json.loads(line)["error"]["code"] for line in done.stdout.splitlines()], [PARSE_ERROR])

    def test_a_whole_message_without_its_newline_is_answered(self):
        done = self.run_with(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        self.assertEqual(done.returncode, 0)
        self.assertEqual([json.loads(line)["id"] for line in done.stdout.splitlines()], [1])

    def test_no_input_at_all_is_no_error(self):
        done = self.run_with(b"")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_garbage_then_the_end(self):
        done = self.run_with(os.urandom(100_000))
        self.assertEqual(done.returncode, 0)
        for line in done.stdout.splitlines():
            self.assertIn("error", json.loads(line))


def paths(value, prefix=()):
    """The path of every field of nested objects."""
    for key, inner in value.items():
        yield (*prefix, key)
        if isinstance(inner, dict):
            yield from paths(inner, (*prefix, key))


def replaced(value, path, new):
    if not path:
        return new
    return {**value, path[0]: replaced(value[path[0]], path[1:], new)}


if __name__ == "__main__":
    unittest.main()
