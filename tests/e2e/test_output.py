"""Output without limits on the work: a gigabyte is drained, a reply shows its ends, and what lies between can be read."""

import os
import re
import unittest

import support

LINE = 1000  # bytes, with the newline
BLOCK = 1000  # lines
BLOCKS = 100 if support.IS_SANITIZED else 1074  # just above 1 GB, or what a sanitizer does in the same time
LINES = BLOCKS * BLOCK
MOST_MEMORY = 64  # MB above an idle server
KEPT = 64 << 20  # bytes that are kept where nothing else is said
CALLS_WITH_OUTPUT = 16

# Lines that begin with their number, written as fast as a pipe takes them.
FLOOD = f"""
(let ((octets (make-array {LINE * BLOCK} :element-type '(unsigned-byte 8) :initial-element 120)) (line 0))
  (declare (fixnum line))
  (dotimes (n {BLOCKS})
    (dotimes (i {BLOCK})
      (let ((at (* i {LINE})) (number (incf line)))
        (declare (fixnum at number))
        (loop for digit from 6 downto 0
              do (multiple-value-bind (quotient rest) (floor number 10)
                   (setf (aref octets (+ at digit)) (+ 48 rest) number quotient)))
        (setf (aref octets (+ at 7)) 32 (aref octets (+ at {LINE - 1})) 10)))
    (let ((written 0))
      (loop while (< written {LINE * BLOCK})
            do (incf written (sb-unix:unix-write 1 octets written (- {LINE * BLOCK} written))))))
  line)
"""


def peak_megabytes(pid):
    return int(support.status(pid)["VmHWM"].split()[0]) / 1024


def temporary_bytes(server):
    """What the server's temporary files take of the disk; they have no names."""
    total = 0
    for fd in os.listdir(f"/proc/{server.pid}/fd"):
        if support.target(server.pid, fd).startswith(str(server.home.path / "run")):
            total += os.stat(f"/proc/{server.pid}/fd/{fd}").st_blocks * 512
    return total


def line(number):
    return f"{number:07d} " + "x" * (LINE - 9)


class Gigabyte(support.TestCase):
    def flood(self, server, session="default"):
        """Writes it all, and checks what is true of the reply however much is kept."""
        server.evaluate("1", session=session)
        idle = support.resident_megabytes(server.pid)
        text, is_error = server.call("evaluate-lisp", code=FLOOD, session=session, seconds=120)
        self.assertFalse(is_error, text[-1000:])
        self.assertTrue(text.startswith(f"[stdout]\n{line(1)}\n{line(2)}\n"), text[:100])
        self.assertTrue(text.endswith(f"{line(LINES)}\n\n=> {LINES}"), text[-100:])
        self.assertLessEqual(len(text), 32_000)
        if not support.IS_SANITIZED:
            self.assertLess(peak_megabytes(server.pid) - idle, MOST_MEMORY)
        return text, idle

    def test_all_of_it_can_be_read_where_so_much_is_kept_and_goes_with_its_session(self):
        server = self.start("--keep-output", "2048")
        server.call("sessions", action="open", session="a")
        text, idle = self.flood(server, "a")
        note = re.search(r"\[\.\.\. ([\d,]+) bytes in [\d,]+ lines left out: read-output with call (\d+) shows them, lines (\d+) "
                         r"to ([\d,]+) \.\.\.\]", text)
        self.assertTrue(note, "what was left out, and how to get it")
        middle = LINES // 2 + 7
        text, is_error = server.call("read-output", session="a", **{"from": middle, "lines": 2})
        self.assertFalse(is_error)
        self.assertEqual(text, f"[stdout of call 2: lines {middle:,}-{middle + 1:,} of {LINES:,}]\n{line(middle)}\n{line(middle + 1)}\n"
                               f"... go on with from: {middle + 2}")
        text, _ = server.call("read-output", session="a", pattern=f"{middle:07d} X")
        self.assertEqual(text, f"[stdout of call 2: 1 line matches '{middle:07d} X']\n{middle}: {line(middle)}")
        self.assertGreaterEqual(temporary_bytes(server), LINES * LINE)
        if not support.IS_SANITIZED:
            self.assertLess(peak_megabytes(server.pid) - idle, MOST_MEMORY)
        self.assertEqual(list((server.home.path / "run").iterdir()), [], "the file has no name that could be left behind")
        server.call("sessions", action="close", session="a")
        support.wait_until(lambda: temporary_bytes(server) == 0, "the disk is given back")
        self.assertEqual(server.close(), 0)

    def test_else_its_ends_are_kept_and_the_reply_says_which_lines_are_not(self):
        server = self.start()
        text, _ = self.flood(server)
        note = re.search(r"lines ([\d,]+) to ([\d,]+) are not kept \.\.\.\]", text)
        self.assertTrue(note, "which lines are not kept")
        first, last = (int(group.replace(",", "")) for group in note.groups())
        self.assertLess(first * LINE, KEPT)
        self.assertGreater((LINES - last) * LINE, KEPT // 3, "the end is kept as well as the beginning")
        for number in (first - 1, last + 1):
            text, _ = server.call("read-output", **{"from": number, "lines": 1})
            self.assertIn(line(number), text)
        text, _ = server.call("read-output", **{"from": first, "lines": 1})
        self.assertIn(f"[lines {first:,} to {last:,} are not kept]", text)
        text, _ = server.call("read-output", pattern=f"{(first + last) // 2:07d}")
        self.assertIn("0 lines match", text)
        self.assertIn(f"[lines {first:,} to {last:,} are not kept]", text)
        self.assertLessEqual(temporary_bytes(server), KEPT + (1 << 20))
        for number in range(CALLS_WITH_OUTPUT):
            self.assertGreater(temporary_bytes(server), 0)
            server.evaluate(str(number))
        self.assertEqual(temporary_bytes(server), 0, "so many calls later the disk is given back")
        text, is_error = server.call("read-output", call=2)
        self.assertTrue(is_error)
        self.assertTrue(text.startswith("The output of call 2 is not kept. Kept is that of: 3, "), text)


class Output(support.TestCase):
    def test_it_is_read_while_the_call_runs(self):
        server = self.start()
        server.evaluate("1")
        endless = server.start_endless_evaluation('(progn (loop for i from 1 to 100000 do (format t "line ~d~%" i)) '
                                                  "(finish-output) RUNNING (loop))")
        text, is_error = server.call("read-output", call=2, **{"from": 50_000, "lines": 1})
        self.assertFalse(is_error)
        self.assertIn("line 50000\n", text)
        server.notify("notifications/cancelled", {"requestId": endless})
        self.assert_alive(server)

    def test_a_huge_value_and_a_huge_message_are_read_the_same_way(self):
        server = self.start()
        many = '(format nil "~{reason ~d~%~}" (loop for i from 1 to COUNT collect i))'
        text, is_error = server.evaluate(many.replace("COUNT", "20000"))
        self.assertFalse(is_error)
        self.assertLessEqual(len(text), 32_000)
        self.assertIn("read-output with call 1 and stream result shows them", text)
        text, _ = server.call("read-output", stream="result", pattern="reason 12345")
        self.assertRegex(text, r"1 line matches 'reason 12345'\]\n\d+: reason 12345\Z")
        text, is_error = server.evaluate(f'(error "~a" {many.replace("COUNT", "1000")})', budget=1000)
        self.assertTrue(is_error)
        self.assertLessEqual(len(text), 1000)
        self.assertIn("read-output with call 2 and stream result shows them", text)
        text, _ = server.call("read-output", stream="result", pattern="reason 567")
        self.assertRegex(text, r"1 line matches 'reason 567'\]\n\d+: reason 567\Z")

    def test_what_comes_between_two_calls_is_shown_with_the_next_and_marked(self):
        server = self.start()
        flag = server.home.cwd / "go"
        done = server.home.cwd / "done"
        server.evaluate(f"""(progn (sb-ext:run-program "/bin/sh" '("-c" "until [ -e {flag} ]; do :; done; echo late; : > {done}")
                                                       :wait nil :output t) 1)""")
        flag.touch()
        support.wait_until(done.exists, "it has been written")
        self.assertEqual(server.evaluate("2"), ("[stdout between calls]\nlate\n\n=> 2", False))

    def test_a_budget_holds_for_the_whole_reply(self):
        server = self.start()
        code = ('(progn (dotimes (i 5000) (format t "out ~d~%" i) (format *error-output* "err ~d~%" i)) '
                '(make-string 10000 :initial-element #\\v))')
        for budget in (1000, 5000, 100_000):
            with self.subTest(budget):
                text, is_error = server.evaluate(code, budget=budget)
                self.assertFalse(is_error)
                self.assertLessEqual(len(text), budget)
                self.assertIn("[stdout]", text)
                self.assertIn("[stderr]", text)


if __name__ == "__main__":
    unittest.main()
