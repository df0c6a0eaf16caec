#!/usr/bin/env python3
"""Every worker is a copy of one process that never runs user code: the template."""

import os
import signal
import unittest

import support


class Template(support.TestCase):
    def start_evaluated(self):
        server = self.start()
        self.assertEqual(server.evaluate("(+ 1 2)"), ("=> 3", False))
        return server

    def template(self, server):
        [template] = support.templates(server.pid)
        return template

    def assert_starts_afresh(self, server):
        server.call("reset-session")
        self.assertEqual(server.evaluate("(+ 1 2)"), ("=> 3", False))
        self.assert_only_one_session_runs(server)

    def test_a_reset_starts_no_other(self):
        server = self.start_evaluated()
        template = self.template(server)
        for _ in range(5):
            self.assert_starts_afresh(server)
        self.assertEqual(self.template(server), template)

    def test_killed_it_is_replaced_by_the_next_start(self):
        server = self.start_evaluated()
        template = self.template(server)
        os.kill(template, signal.SIGKILL)
        support.wait_until(lambda: not support.templates(server.pid), "the template is gone")
        self.assertEqual(server.evaluate("(+ 1 2)"), ("=> 3", False))
        self.assert_starts_afresh(server)
        self.assertNotEqual(self.template(server), template)
        self.assertEqual(server.close(), 0)

    def test_stopped_it_is_replaced_by_the_next_start(self):
        server = self.start_evaluated()
        template = self.template(server)
        os.kill(template, signal.SIGSTOP)
        self.assert_starts_afresh(server)
        self.assertNotEqual(self.template(server), template)
        self.assertEqual(server.close(), 0)

    def test_stopped_while_a_start_waits_the_server_can_leave(self):
        server = self.start_evaluated()
        os.kill(self.template(server), signal.SIGSTOP)
        server.call("reset-session")
        server.send_evaluation("(+ 1 2)")
        self.assertEqual(server.request("ping")["result"], {})
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(), 0)
        server.home.wait_until_no_process_is_left()

    def test_sessions_draw_different_random_numbers(self):
        server = self.start_evaluated()
        drawn = set()
        for _ in range(5):
            server.call("reset-session")
            drawn.add(server.evaluate("(random 1000000000000)")[0])
        self.assertEqual(len(drawn), 5, drawn)


if __name__ == "__main__":
    unittest.main()
