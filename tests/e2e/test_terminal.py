"""With a terminal the program is a REPL for a person, on the same machinery and with the same words."""

import os
import pty
import re
import select
import signal
import time
import unittest

import support

CONTROL_C = b"\x03"
CONTROL_D = b"\x04"
PROMPT = r"CL-USER> $"


class Terminal:
    """The program under a pseudo-terminal, which is its controlling one."""

    def __init__(self, home):
        self.seen = ""
        self.exit_code = None
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(home.cwd)
            os.execve(support.PROGRAM, [support.PROGRAM], home.environment())

    def type(self, text):
        os.write(self._fd, text if isinstance(text, bytes) else text.encode())

    def expect(self, pattern, seconds=support.REPLY_SECONDS):
        """Reads until the pattern is on the screen after what was expected before; returns what came."""
        deadline = time.monotonic() + seconds
        while not (found := re.search(pattern, self.seen)):
            if not self._read(deadline):
                raise support.Timeout(f"{pattern!r} is not on the screen: {self.seen!r}")
        came, self.seen = self.seen[:found.end()], self.seen[found.end():]
        return came

    def _read(self, deadline):
        ready, _, _ = select.select([self._fd], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # how a terminal says that the other side is gone
            return False
        self.seen += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)

    def wait(self, seconds=support.EXIT_SECONDS):
        deadline = time.monotonic() + seconds
        while self._read(deadline):
            pass
        _, status = os.waitpid(self.pid, 0) if time.monotonic() < deadline else (0, None)
        if status is None:
            raise support.Timeout("the REPL does not leave")
        self.exit_code = os.waitstatus_to_exitcode(status)
        return self.exit_code

    def close(self):
        if self.exit_code is None:
            support.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._fd)


class Repl(support.TestCase):
    def setUp(self):
        self.home = self.make_home()
        self.terminal = Terminal(self.home)
        self.addCleanup(self.terminal.close)
        self.banner = self.terminal.expect(PROMPT)

    def evaluate(self, code):
        """What is shown between the echo of the code and the next prompt."""
        self.terminal.type(code + "\n")
        self.terminal.expect(re.escape(code) + "\n")
        return re.sub(r"\s*\S+> $", "", self.terminal.expect(r"\S+> $"))

    def test_the_banner_says_how_to_connect_claude_code(self):
        self.assertRegex(self.banner, r"cl-mcp-server 0\.1\.0")
        self.assertRegex(self.banner, rf"claude mcp add \S+ -- {re.escape(support.PROGRAM)}\n")
        self.assertIn(":help", self.banner)

    def test_it_answers_with_the_text_of_the_tool(self):
        server = self.start()
        for code in ("(+ 1 2)", "(floor 17 5)", "(values)", "(progn (print 'hello) 42)", "(car 42)",
                     "(defun foo () (let ((x 10))))", "(list 'a"  " 1.5 \"text\")"):
            with self.subTest(code=code):
                self.assertEqual(self.evaluate(code), server.evaluate(code)[0])

    def test_a_form_may_go_over_several_lines(self):
        self.terminal.type("(defun twice (x)\n  (* 2\n     x))\n")
        self.terminal.expect("=> TWICE\n")
        self.terminal.expect(PROMPT)
        self.assertEqual(self.evaluate('(list (twice 21) "(")'), '=> (42 "(")')

    def test_the_prompt_follows_the_package(self):
        self.terminal.type("(in-package :keyword)\n")
        self.terminal.expect(r"KEYWORD> $")

    def test_help_and_quit(self):
        self.terminal.type(":help\n")
        self.assertIn(":quit", self.terminal.expect(PROMPT)[len(":help\n"):])
        self.evaluate("(+ 1 2)")
        self.terminal.type(":quit\n")
        self.assertEqual(self.terminal.wait(), 0)
        self.home.wait_until_no_process_is_left()

    def test_control_c_interrupts_and_the_state_stays(self):
        self.evaluate("(defvar *x* 42)")
        running = self.home.cwd / "running"
        self.terminal.type('(progn (with-open-file (s "running" :direction :output)) (loop))\n')
        support.wait_until(running.exists, "the evaluation runs")
        self.terminal.type(CONTROL_C)
        self.terminal.expect(PROMPT)
        self.assertEqual(self.evaluate("*x*"), "=> 42")

    def test_control_c_forgets_a_half_typed_form(self):
        self.terminal.type("(list 1\n")
        self.terminal.type(CONTROL_C)
        self.terminal.expect(PROMPT)
        self.assertEqual(self.evaluate("(+ 1 2)"), "=> 3")

    def test_control_d_leaves(self):
        self.evaluate("(+ 1 2)")
        self.terminal.type(CONTROL_D)
        self.assertEqual(self.terminal.wait(), 0)
        self.home.wait_until_no_process_is_left()

    def test_a_terminal_that_goes_away_ends_it(self):
        self.evaluate("(+ 1 2)")
        self.terminal.type("(loop)\n")
        os.kill(self.terminal.pid, signal.SIGHUP)
        self.terminal.wait()
        self.home.wait_until_no_process_is_left()


if __name__ == "__main__":
    unittest.main()
