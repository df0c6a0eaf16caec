"""The Quicklisp road of load-system: the built program finds a Quicklisp home and loads from its dist.

Each case runs with our double of the client, installed by Debian's real bootstrap. With
CL_MCP_TEST_QUICKLISP_SETUP=/path/to/quicklisp/setup.lisp the same cases run with that real client too.
"""

import concurrent.futures
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import dist  # noqa: E402  (found beside this file)
import support  # noqa: E402  (found through the path above)

REAL_SETUP = os.environ.get("CL_MCP_TEST_QUICKLISP_SETUP")


class QuicklispCases:
    """What must hold with the double and with the real client."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="cl-mcp-quicklisp-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        (cls.folder / "www").mkdir()
        (cls.folder / "home").mkdir()
        cls.dist = cls.enterClassContext(dist.serving(cls.folder / "www"))
        cls.install(cls.folder / "home", cls.dist.url)

    def setUp(self):
        self.dist.watch.is_on = False
        self.home = support.Home()
        self.addCleanup(self.home.remove)
        # The ordinary place, where the server looks without being told.
        shutil.copytree(self.folder / "home/quicklisp", self.home.path / "home/quicklisp")

    def server(self):
        server = support.Server(home=self.home)
        self.addCleanup(server.__exit__)
        return server

    def assert_loads(self, server, system, last_line):
        text, is_error = server.call("load-system", system=system, seconds=120)
        self.assertFalse(is_error, text)
        lines = text.splitlines()
        self.assertEqual((lines[0], lines[-1]), (f"Loading system: {system}", last_line))
        return text

    def assert_fails(self, server, system, pattern):
        text, is_error = server.call("load-system", system=system, seconds=120)
        self.assertTrue(is_error, text)
        self.assertRegex(text, pattern)
        # Whatever went wrong, the session lives.
        self.assertEqual(server.evaluate("(+ 1 2)"), ("=> 3", False))
        return text

    def test_a_system_that_only_the_dist_has_is_fetched_and_loaded(self):
        server = self.server()
        text = self.assert_loads(server, "ql-hello", "Loaded: ql-hello (version 1.2)")
        self.assertIn('; Loading "ql-hello"', text)
        self.assertEqual(server.evaluate("(ql-hello:hello)"), ('=> "Hello, dist."', False))

    def test_an_installed_system_is_not_fetched_again(self):
        self.dist.watch.archives.clear()
        for _ in range(2):
            self.assert_loads(self.server(), "ql-evaluated", "Loaded: ql-evaluated")
        self.assertEqual(self.dist.watch.archives, ["/ql-evaluated.tgz"])

    def test_an_evaluated_quickload_of_an_unknown_system_fails_as_the_client_says(self):
        server = self.server()
        self.assert_loads(server, "ql-greeting", "Loaded: ql-greeting (version 0.3)")
        text, is_error = server.evaluate('(ql:quickload "nonexistent" :silent t)')
        self.assertTrue(is_error, text)
        self.assertRegex(text, r'\A\[ERROR\] QUICKLISP-CLIENT:SYSTEM-NOT-FOUND\nSystem "nonexistent" not found')

    def test_a_name_in_capitals_means_the_same_system(self):
        text, is_error = self.server().call("load-system", system="QL-GREETING", seconds=120)
        self.assertFalse(is_error, text)
        self.assertRegex(text, r"(?i)\nLoaded: ql-greeting \(version 0\.3\)$")

    def test_an_unknown_system_is_told_in_the_words_of_the_contract(self):
        text = self.assert_fails(
            self.server(), "nonexistent",
            r'\A\[ERROR\] QUICKLISP-CLIENT:SYSTEM-NOT-FOUND\n'
            r'System "nonexistent" not found in any known distribution\.\n')
        self.assertIn("Quicklisp", text)
        self.assertNotIn("not installed", text)

    def test_a_missing_dependency_is_named(self):
        self.assert_fails(self.server(), "ql-missing", r'\A\[ERROR\] (.*\n)*.*"no-such-lib"')

    def test_a_broken_file_is_named_with_the_reason(self):
        self.assert_fails(self.server(), "ql-broken", r"(?s)\A\[ERROR\] \S*COMPILE-FILE-ERROR\n.*bad\.lisp.*(end of file|file ends)")

    def test_a_full_warning_is_not_swallowed(self):
        text, _ = self.server().call("load-system", system="ql-warns", seconds=120)
        self.assertRegex(text, r"(?s)WARNING.*CAR")

    def test_a_package_conflict_is_told(self):
        self.assert_fails(self.server(), "ql-conflict", r"(?s)\A\[ERROR\] \S*NAME-CONFLICT\n.*SAME")

    def test_the_client_is_loaded_only_when_it_is_needed(self):
        server = self.server()
        self.assertEqual(server.evaluate("(find-package :ql)"), ("=> NIL", False))
        self.assert_loads(server, "ql-greeting", "Loaded: ql-greeting (version 0.3)")
        self.assertEqual(server.evaluate("(find-package :ql)"), ('=> #<PACKAGE "QUICKLISP-CLIENT">', False))

    def test_what_was_loaded_is_there_again_after_a_reset(self):
        server = self.server()
        self.assert_loads(server, "ql-hello", "Loaded: ql-hello (version 1.2)")
        text, is_error = server.evaluate('(ql:quickload "ql-evaluated" :silent t)')
        self.assertEqual((text.splitlines()[-1], is_error), ('=> ("ql-evaluated")', False))
        server.evaluate("(defvar *mine* 1)")
        text, is_error = server.call("reset-session", seconds=120)
        self.assertEqual((text, is_error), ("Session reset. All definitions cleared.\nCurrent package: CL-USER", False))
        self.assertEqual(server.evaluate("(boundp '*mine*)"), ("=> NIL", False))
        self.assertEqual(server.evaluate("(ql-hello:hello)"), ('=> "Hello, dist."', False))
        self.assertEqual(server.evaluate("(ql-evaluated:answer)"), ("=> 42", False))

    def test_what_the_client_brings_is_no_definition_of_the_user(self):
        server = self.server()
        self.assert_loads(server, "ql-hello", "Loaded: ql-hello (version 1.2)")
        text, _ = server.call("list-definitions")
        self.assertNotRegex(text, r"(?i)quickload|system-not-found|qlqs|\bhello \(")
        self.assertIn("QL-HELLO", text)

    def test_two_servers_that_load_at_once_wait_for_each_other(self):
        self.dist.watch.is_on = True
        servers = [self.server(), self.server()]
        for server in servers:
            server.evaluate("t")  # both workers are up before either loads
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda pair: self.assert_loads(*pair),
                          [(servers[0], "ql-one", "Loaded: ql-one"), (servers[1], "ql-two", "Loaded: ql-two")]))
        self.assertEqual(self.dist.watch.most_at_once, 1)


class DoubleOfTheClient(QuicklispCases, unittest.TestCase):
    install = staticmethod(dist.install_double)


class RealClient(QuicklispCases, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not REAL_SETUP:
            raise unittest.SkipTest("CL_MCP_TEST_QUICKLISP_SETUP is not set; CI cannot have the real client, no package has it")
        super().setUpClass()

    @staticmethod
    def install(home, url):
        dist.install_real(home, url, REAL_SETUP)


if __name__ == "__main__":
    unittest.main()
