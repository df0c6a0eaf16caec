"""Flags, environment variables, logs and exit codes: errors for people."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

import support

USAGE, IMAGE, OUTPUT, LOG_FILE = 2, 3, 4, 5  # src/app/exit_code.h

LOG_LINE = re.compile(r'(\w+=("([^"\\]|\\.)*"|[^ "=]+)( |$))+')


class CommandLine(support.TestCase):
    def run_program(self, *arguments, data="", **options):
        home = self.make_home()
        return subprocess.run([support.PROGRAM, *arguments], input=data, text=True, capture_output=True, cwd=home.cwd,
                              env=home.environment(), timeout=support.EXIT_SECONDS, check=False, **options)

    def assert_one_sentence(self, text):
        self.assertRegex(text, r"\A[^\n]{10,400}\n\Z")

    def test_help_names_the_flags_the_variables_and_the_exit_codes(self):
        done = self.run_program("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in ("--lisp", "--image", "--exit-grace", "--log-level", "--log-file", "--version", "CL_MCP_LISP",
                     "claude mcp add"):
            self.assertIn(word, done.stdout)

    def test_version_is_one_line(self):
        done = self.run_program("--version")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "cl-mcp-server 0.1.0\n", ""))

    def test_a_bad_flag_is_one_sentence_and_exit_code_2(self):
        for arguments in (["--no-such-flag"], ["--log-level", "loud"], ["--exit-grace", "soon"], ["--exit-grace", "-1"],
                          ["stray-word"], ["--lisp"]):
            with self.subTest(arguments=arguments):
                done = self.run_program(*arguments)
                self.assertEqual((done.returncode, done.stdout), (USAGE, ""))
                self.assert_one_sentence(done.stderr)

    def test_a_quiet_session_writes_nothing_to_standard_error(self):
        server = self.start()
        server.evaluate("(car 1)")
        server.evaluate("(sb-ext:exit :abort t)")
        server.send_bytes(b"no json\n")
        server.receive()
        self.assertEqual(server.close(), 0)
        self.assertNotIn("level=info", server.errors())
        self.assertNotIn("level=debug", server.errors())

    def test_debug_logs_are_lines_of_key_and_value(self):
        server = self.start("--log-level", "debug")
        server.evaluate('(error "a message with = and \\" in it")')
        self.assertEqual(server.close(), 0)
        lines = server.errors().splitlines()
        self.assertGreater(len(lines), 3)
        for line in lines:
            self.assertTrue(LOG_LINE.fullmatch(line), line)

    def test_a_log_file_takes_the_lines_instead(self):
        home = self.make_home()
        server = self.start("--log-level", "debug", "--log-file", str(home.path / "log"), home=home)
        server.evaluate("1")
        self.assertEqual(server.close(), 0)
        self.assertEqual(server.errors(), "")
        self.assertTrue(LOG_LINE.match((home.path / "log").read_text()))

    def test_a_log_file_in_a_missing_directory_is_one_sentence(self):
        done = self.run_program("--log-file", "/nonexistent/directory/log")
        self.assertEqual((done.returncode, done.stdout), (LOG_FILE, ""))
        self.assert_one_sentence(done.stderr)
        self.assertIn("/nonexistent/directory/log", done.stderr)

    def test_a_full_disk_under_standard_output_is_one_sentence(self):
        with open("/dev/full", "wb") as full:
            server = self.start(revision=None, stdout=full)
        server.send({"id": 1, "method": "ping"})
        self.assertEqual(server.wait(), OUTPUT)
        self.assert_one_sentence(server.errors())
        self.assertIn("No space left on device", server.errors())

    def test_a_closed_standard_output_is_no_crash(self):
        done = subprocess.run(["sh", "-c", 'exec "$0" >&-', support.PROGRAM], input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
                              stderr=subprocess.PIPE, timeout=support.EXIT_SECONDS, check=False)
        self.assertGreater(done.returncode, 0)

    def test_a_closed_standard_error_is_no_crash(self):
        done = subprocess.run(["sh", "-c", 'exec "$0" 2>&-', support.PROGRAM], input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
                              stdout=subprocess.PIPE, timeout=support.EXIT_SECONDS, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(done.stdout.splitlines()), 1)


class WhichLisp(support.TestCase):
    def assert_says_so_and_lives(self, server, *words):
        for _ in range(2):
            text, is_error = server.evaluate("(+ 1 2)")
            self.assertTrue(is_error)
            self.assertLess(len(text), 1000)
            for word in words:
                self.assertIn(word, text)
            self.assertEqual(server.request("ping")["result"], {})

    def test_a_lisp_that_does_not_exist_is_said_in_the_reply(self):
        server = self.start("--lisp", "/nonexistent/sbcl")
        self.assert_says_so_and_lives(server, "/nonexistent/sbcl")
        self.assertEqual(server.close(), 0)

    def test_a_lisp_that_is_something_else_is_said_in_the_reply(self):
        for program in ("/bin/false", "/bin/echo", "/etc/passwd"):
            with self.subTest(program):
                server = self.start("--lisp", program)
                self.assert_says_so_and_lives(server, program)
                self.assertEqual(server.close(), 0)

    def test_another_lisp_gets_its_image_once(self):
        sbcl = shutil.which("sbcl")
        home = self.make_home()
        cache = {"XDG_CACHE_HOME": str(home.path / "cache")}
        server = self.start("--lisp", sbcl, home=home, env=cache)
        self.assertEqual(server.evaluate("(+ 1 2)"), ("=> 3", False))
        self.assertEqual(server.close(), 0)
        images = large_files(home.path / "cache")
        self.assertEqual(len(images), 1, images)
        made = images[0].stat().st_mtime_ns

        # The second start finds it, also by the environment variable.
        server = self.start(home=home, env={**cache, "CL_MCP_LISP": sbcl})
        self.assertEqual(server.evaluate("(+ 1 2)"), ("=> 3", False))
        self.assertIn(str(images[0]), os.readlink(f"/proc/{server.workers()[0]}/exe"))
        self.assertEqual(server.close(), 0)
        self.assertEqual([(path, path.stat().st_mtime_ns) for path in large_files(home.path / "cache")],
                         [(images[0], made)])

    def test_stopped_while_it_makes_an_image_it_leaves_nothing(self):
        home = self.make_home()
        cache = {"XDG_CACHE_HOME": str(home.path / "cache")}
        server = self.start("--lisp", shutil.which("sbcl"), home=home, env=cache)
        server.send_evaluation("(+ 1 2)")
        support.wait_until(lambda: support.children(server.pid), "the image is being made")
        start = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.assert_gone_in_time(server, start), 0)

        # What it left half done does not disturb the next start.
        server = self.start("--lisp", shutil.which("sbcl"), home=home, env=cache)
        self.assertEqual(server.evaluate("(+ 1 2)"), ("=> 3", False))

    def test_two_servers_may_make_the_same_image_at_once(self):
        home = self.make_home()
        options = {"home": home, "env": {"XDG_CACHE_HOME": str(home.path / "cache")}}
        servers = [self.start("--lisp", shutil.which("sbcl"), **options) for _ in range(2)]
        ids = [server.send_evaluation("(+ 1 2)") for server in servers]
        for server, request_id in zip(servers, ids):
            self.assertEqual(support.text_of(server.wait_for(request_id)), ("=> 3", False))

    def test_the_variable_names_a_lisp_too(self):
        server = self.start(env={"CL_MCP_LISP": "/nonexistent/sbcl"})
        self.assert_says_so_and_lives(server, "/nonexistent/sbcl")

    def test_a_cache_that_cannot_be_written_is_said_in_the_reply(self):
        home = self.make_home()
        blocked = home.write("a-file", "where a directory should be")
        server = self.start("--lisp", shutil.which("sbcl"), home=home, env={"XDG_CACHE_HOME": str(blocked)})
        self.assert_says_so_and_lives(server, str(blocked))

    def test_an_image_that_is_not_there_is_one_sentence_and_an_exit_code(self):
        home = self.make_home()
        done = subprocess.run([support.PROGRAM, "--image", "/nonexistent/image"], input="", text=True, capture_output=True,
                              cwd=home.cwd, env=home.environment(), timeout=support.EXIT_SECONDS, check=False)
        self.assertEqual((done.returncode, done.stdout), (IMAGE, ""))
        self.assertRegex(done.stderr, r"\A[^\n]*/nonexistent/image[^\n]*\n\Z")

    def test_a_missing_worker_image_is_said_in_the_reply(self):
        home = self.make_home()
        alone = pathlib.Path(shutil.copy(support.PROGRAM, home.path))
        server = self.start(home=home, program=str(alone))
        self.assert_says_so_and_lives(server, "cl-mcp-worker")
        self.assertEqual(server.close(), 0)

    def test_a_worker_image_that_dies_at_start_is_said_in_the_reply(self):
        for name, content in (("exits", "#!/bin/sh\necho broken >&2\nexit 9\n"), ("is no program", "garbage\n")):
            with self.subTest(name):
                home = self.make_home()
                image = home.path / "image"
                image.write_text(content)
                image.chmod(0o755)
                server = self.start("--image", str(image), home=home)
                self.assert_says_so_and_lives(server, str(image))
                self.assertEqual(server.close(), 0)

    def test_a_worker_image_that_never_speaks_is_given_up(self):
        home = self.make_home()
        image = home.path / "image"
        image.write_text("#!/bin/sh\nsleep 1000\n")
        image.chmod(0o755)
        server = self.start("--image", str(image), home=home)
        text, is_error = server.evaluate("(+ 1 2)")
        self.assertTrue(is_error)
        self.assertIn("in time", text)
        self.assertEqual(server.close(), 0)


def large_files(directory):
    return [path for path in directory.glob("**/*") if path.is_file() and path.stat().st_size > 10_000_000]


if __name__ == "__main__":
    unittest.main()
