"""The journal: a server that is killed at any moment loses at most the evaluation that was running."""

import os
import pathlib
import random
import signal
import time
import unittest

import support

KILLS = 10 if support.IS_SANITIZED else 50
UNDO_DEPTH = 10
NAMES = [f"thing-{number}" for number in range(12)]


def journals(home):
    """All journal files, by name."""
    return {path.name: path for path in (home.path / "state").rglob("*journal*") if path.is_file()}


class Model:
    """What a session must be: what its names mean, and what they meant before each call that can be undone."""

    def __init__(self, meanings=None):
        self.meanings = dict(meanings or {})
        self.before = []

    def copy(self):
        other = Model(self.meanings)
        other.before = list(self.before)
        return other

    def apply(self, operation):
        kind, argument = operation
        if kind == "undo":
            for _ in range(argument):
                self.meanings = self.before.pop()
            return
        self.before = [*self.before, self.meanings][-UNDO_DEPTH:]
        self.meanings = {} if kind == "reset" else {**self.meanings, **argument}


class Load:
    """Calls to one session that are all on their way at once, and what may have become of them."""

    def __init__(self, random_numbers, server, session, model, first=()):
        self._random = random_numbers
        self._server = server
        self._session = session
        self.models = [model]  # after each operation
        self._calls = []
        for operation in first:
            self._send(operation)

    def send(self, count):
        for _ in range(count):
            self._send(self._operation())

    def _operation(self):
        dice = self._random.random()
        undoable = len(self.models[-1].before)
        if dice < 0.2 and undoable:
            return "undo", self._random.randint(1, min(undoable, 3))
        if dice < 0.23:
            return "reset", None
        chosen = self._random.sample(NAMES, self._random.randint(1, 3))
        return "define", {name: self._random.randint(1, 1_000_000) for name in chosen}

    def _send(self, operation):
        kind, argument = operation
        if kind == "define":
            code = "\n".join(self._definition(name, value) for name, value in argument.items())
            call = self._call("evaluate-lisp", code=code)
        else:
            call = self._call("undo", calls=argument) if kind == "undo" else self._call("reset-session")
        self._calls.append(call)
        model = self.models[-1].copy()
        model.apply(operation)
        self.models.append(model)

    def _definition(self, name, value):
        """Variables that come and go as functions do."""
        form = self._random.choice(["(defun {0} () {1})", "(defparameter {0} {1}) (defun {0} () {0})",
                                    "(defmacro {0} () {1}) (defun {0} () {1})"])
        return form.format(name, value)

    def _call(self, tool, **arguments):
        return self._server.send_request("tools/call", {"name": tool, "arguments": {"session": self._session, **arguments}})

    def possible(self, replies):
        """What the session may be after a kill: what it was after the last answer, or after any call behind it."""
        answered = 0
        for call in self._calls:
            if call in replies:
                text, is_error = support.text_of(replies[call])
                if is_error:
                    raise AssertionError(f"{self._session}: {text}")
                answered += 1
        if any(call in replies for call in self._calls[answered:]):
            raise AssertionError(f"{self._session}: a call was answered before the one that came first")
        return [model.meanings for model in self.models[answered:]]


def meanings(server):
    """What the names mean in the default session, and what the reply says besides."""
    code = "(format t \"~{~a ~}\" (mapcar (lambda (name) (and (fboundp name) (funcall name))) '(" + " ".join(NAMES) + ")))"
    text, is_error = server.evaluate(code, keep=False)
    if is_error:
        raise AssertionError(text)
    found = text.split("[stdout]\n")[1].split("\n")[0].split()
    return {name: int(value) for name, value in zip(NAMES, found, strict=True) if value != "NIL"}, text


class Kills(support.TestCase):
    def test_what_was_answered_is_there_after_a_kill_at_any_moment(self):
        """Each life goes on with the default session of the life before it, and has a session beside it that is then resumed
        too: a new one, or a copy."""
        seed = int(os.environ.get("CL_MCP_TEST_SEED") or random.randrange(1 << 32))
        random_numbers = random.Random(seed)
        home = self.make_home()
        possible = [{}]
        for life in range(KILLS + 1):
            with self.subTest(seed=seed, life=life), support.Server("--resume", "default", home=home) as server:
                found, words = meanings(server)
                self.assertIn(found, possible, words)
                possible, beside = self.live(random_numbers, server, found, f"beside-{life}")
            with self.subTest(seed=seed, beside=life):
                self.check_beside(home, f"beside-{life}", beside)
        home.wait_until_no_process_is_left()

    def check_beside(self, home, name, possible):
        if f"{name}.journal" not in journals(home):
            self.assertIn({}, possible, "it was killed before anything was answered")
            return
        with support.Server("--resume", name, home=home) as server:
            found, words = meanings(server)
            self.assertIn(found, possible, words)

    def live(self, random_numbers, server, found, other):
        """Loads a server that has just been resumed and kills it. What its two sessions may be then."""
        forked = random_numbers.random() < 0.5
        to = {"session": "default", "to": other} if forked else {"session": other}
        text, is_error = server.call("sessions", action="fork" if forked else "open", **to)
        self.assertFalse(is_error, text)
        main = Load(random_numbers, server, "default", Model(found), [("reset", None)] if len(found) > 9 else [])
        beside = Load(random_numbers, server, other, Model(found if forked else {}), [("define", {NAMES[0]: 1})])
        for _ in range(10):
            main.send(2)
            beside.send(2)
        replies = self.kill_after(random_numbers, server, random_numbers.randint(0, 40))
        return main.possible(replies), beside.possible(replies)

    def kill_after(self, random_numbers, server, count):
        """Kills it some time after so many replies; all that it gave."""
        replies = {}
        while len(replies) < count:
            message = server.receive()
            replies[message["id"]] = message
        time.sleep(random_numbers.uniform(0, 0.005))  # A moment like any other.
        server.process.kill()
        server.wait()
        for message in server.rest():
            replies[message["id"]] = message
        return replies


class Resume(support.TestCase):
    def kill(self, server):
        server.process.kill()
        server.wait()

    def leave_behind(self, home, *codes):
        """A journal of a server that made these evaluations and was killed."""
        with support.Server(home=home) as server:
            for code in codes:
                _, is_error = server.evaluate(code)
                self.assertFalse(is_error)

    def test_it_says_what_was_replayed_and_what_was_not(self):
        home = self.make_home()
        self.leave_behind(home, "(defvar *x* 1)", "(defun f () (list *x* 'f))", "(setf *x* 2)", "(list 1 2)")
        server = self.start("--resume", "default", home=home)
        text, is_error = server.evaluate("(f)")
        self.assertFalse(is_error)
        self.assertRegex(text, r"\A\[notice\]\nResumed the session 'default' as it was at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.\n"
                               r"Replayed, 2 definitions: \(defvar \*x\* 1\); \(defun f \(\) \(list \*x\* 'f\)\)\. "
                               r"Not replayed, since only definitions are: \(setf \*x\* 2\); \(list 1 2\)\.\n\n=> \(1 F\)\Z")
        self.assertEqual(server.evaluate("(f)"), ("=> (1 F)", False), "it is said once")

    def test_a_definition_that_fails_is_named_and_the_others_are_made(self):
        home = self.make_home()
        home.write("present", "")
        self.leave_behind(home, '(defvar *file* (with-open-file (s "present") 1))', "(defun f () 'f)")
        (home.cwd / "present").unlink()
        server = self.start("--resume", "default", home=home)
        text, _ = server.evaluate("(f)")
        self.assertIn("Replayed, 1 definition: (defun f () 'f).", text)
        self.assertRegex(text, r"Failed when replayed: \(defvar \*file\* .*\(.*FILE-DOES-NOT-EXIST\)\.")
        self.assertTrue(text.endswith("=> F"), text)

    def test_a_definition_that_kills_or_never_ends_costs_only_itself(self):
        home = self.make_home()
        home.write("harmless", "")
        self.leave_behind(home, "(defvar *a* 1)",
                          '(defvar *fatal* (unless (probe-file "harmless") (sb-ext:exit :code 3 :abort t)))', "(defvar *b* 2)")
        (home.cwd / "harmless").unlink()
        server = self.start("--resume", "default", home=home)
        text, _ = server.evaluate("(list *a* *b* (boundp '*fatal*))")
        self.assertIn("Failed when replayed: (defvar *fatal* ", text)
        self.assertIn("exited with code 3", text)
        self.assertTrue(text.endswith("=> (1 2 NIL)"), text)

    def test_systems_are_loaded_again(self):
        home = self.make_home()
        home.write("own.asd", '(defsystem "own" :components ((:file "own")))')
        home.write("own.lisp", "(cl:defpackage :own (:use :cl) (:export #:here))\n(in-package :own)\n(defun here () 'here)\n")
        with support.Server(home=home) as server:
            self.assertFalse(server.call("load-system", system="own")[1])
            server.evaluate("(defun there () (own:here))")
        server = self.start("--resume", "default", home=home)
        text, is_error = server.evaluate("(there)")
        self.assertFalse(is_error, text)
        self.assertTrue(text.endswith("=> OWN:HERE") or text.endswith("=> OWN::HERE"), text)

    def test_packages_are_there_and_definitions_in_theirs(self):
        home = self.make_home()
        self.leave_behind(home, "(defpackage :shapes (:use :cl) (:export #:area))", "(in-package :shapes)",
                          "(defun area (x) (* x 2))")
        server = self.start("--resume", "default", home=home)
        text, is_error = server.evaluate("(shapes:area 4)", package="CL-USER")
        self.assertFalse(is_error, text)
        self.assertTrue(text.endswith("=> 8"), text)

    def test_a_session_is_resumed_again_and_again(self):
        home = self.make_home()
        self.leave_behind(home, "(defvar *made* '(0))")
        for life in range(1, 5):
            with support.Server("--resume", "default", home=home) as server:
                server.evaluate(f"(defparameter *of-{life}* {life})")
        server = self.start("--resume", "default", home=home)
        text, _ = server.evaluate("(list *made* *of-1* *of-2* *of-3* *of-4*)")
        self.assertIn("Replayed, 5 definitions:", text)
        self.assertTrue(text.endswith("=> ((0) 1 2 3 4)"), text)
        self.assertEqual(set(journals(home)), {"default.journal"}, "it is one journal that goes on")

    def test_what_was_undone_reset_restored_or_tried_does_not_come_back(self):
        home = self.make_home()
        with support.Server(home=home) as server:
            server.evaluate("(defvar *before-reset* 1)")
            server.call("reset-session")
            server.evaluate("(defvar *kept* 1)")
            server.call("checkpoints", action="save", name="here")
            server.evaluate("(defvar *after-save* 1)")
            server.call("checkpoints", action="restore", name="here")
            server.evaluate("(defvar *tried* 1)", keep=False)
            server.evaluate("(defvar *undone* 1)")
            server.evaluate("(defvar *undone-too* 1)")
            self.assertFalse(server.call("undo", calls=2)[1])
            server.evaluate("(defvar *last* 1)")
            server.evaluate("(progn (defvar *died* 1) (sb-ext:exit :abort t))")
            server.evaluate("(defvar *tried-again* 1)", keep=False)
            server.start_endless_evaluation("(progn (defvar *never-done* 1) RUNNING (loop))")
        server = self.start("--resume", "default", home=home)
        text, _ = server.evaluate("(mapcar #'boundp '(*kept* *last* *before-reset* *after-save* *tried* *undone* "
                                  "*undone-too* *died* *tried-again* "
                                  "*never-done*))")
        self.assertRegex(text, r"\.\nReplayed, 2 definitions: \(defvar \*kept\* 1\); \(defvar \*last\* 1\)\.\n\n"
                               r"=> \(T T NIL NIL NIL NIL NIL NIL NIL NIL\)\Z")

    def test_what_a_replay_after_a_death_brought_back_is_resumed_too(self):
        home = self.make_home()
        with support.Server(home=home) as server:
            server.evaluate("(defvar *a* 1)")
            server.evaluate("(progn (defvar *thread* (sb-thread:make-thread (lambda () (sleep 1000)))) 1)")
            server.evaluate("(defun f () 'f)")
            text, _ = server.evaluate("(sb-ext:exit :abort t)")
            self.assertIn("Replayed", text)
            self.assertEqual(server.evaluate("(f)"), ("=> F", False))
        server = self.start("--resume", "default", home=home)
        text, is_error = server.evaluate("(list *a* (f))")
        self.assertFalse(is_error, text)
        self.assertTrue(text.endswith("=> (1 F)"), text)

    def test_a_copy_of_a_session_is_resumed_with_what_it_was_given(self):
        home = self.make_home()
        with support.Server(home=home) as server:
            server.evaluate("(defvar *given* 1)")
            server.call("sessions", action="fork", to="copy")
            server.evaluate("(defvar *own* 2)", session="copy")
        server = self.start("--resume", "copy", home=home)
        text, is_error = server.evaluate("(list *given* *own*)")
        self.assertFalse(is_error, text)
        self.assertTrue(text.endswith("=> (1 2)"), text)

    def test_an_unknown_name_starts_empty_and_says_what_there_is(self):
        home = self.make_home()
        server = self.start("--resume", "nowhere", home=home)
        text, is_error = server.evaluate("(+ 1 2)")
        self.assertFalse(is_error)
        self.assertRegex(text, r"\A\[notice\]\nThe session starts empty: There is no journal in \S+\n\n=> 3\Z")
        self.kill(server)
        server = self.start("--resume", "nowhere", home=home)
        text, _ = server.evaluate("(+ 1 2)")
        self.assertIn(f"The session starts empty: There is no journal 'nowhere'; there is 'default' of {home.cwd}", text)

    def test_a_journal_that_a_living_server_holds_is_left_alone(self):
        home = self.make_home()
        first = self.start(home=home)
        first.evaluate("(defvar *x* 'mine)")
        second = self.start("--resume", "default", home=home)
        text, is_error = second.evaluate("(boundp '*x*)")
        self.assertFalse(is_error)
        self.assertRegex(text, r"\A\[notice\]\nThe session starts empty: \S+default\.journal is in use by another server that is "
                               r"running\n\n=> NIL\Z")
        second.evaluate("(defvar *y* 'other)")
        first.evaluate("(defvar *z* 'mine)")
        self.assertEqual(set(journals(home)), {"default.journal", "default-2.journal"}, "each has its own")
        self.kill(first)
        self.kill(second)
        third = self.start("--resume", "default", home=home)
        self.assertTrue(third.evaluate("(list *x* *z* (boundp '*y*))")[0].endswith("=> (MINE MINE NIL)"))
        fourth = self.start("--resume", "default-2", home=home)
        self.assertTrue(fourth.evaluate("*y*")[0].endswith("=> OTHER"))

    def test_the_end_of_a_killed_write_is_passed_over(self):
        home = self.make_home()
        self.leave_behind(home, "(defvar *a* 1)", "(defvar *b* 2)")
        path = journals(home)["default.journal"]
        path.write_bytes(path.read_bytes()[:-5])
        server = self.start("--resume", "default", home=home)
        text, _ = server.evaluate("(list *a* (boundp '*b*))")
        self.assertTrue(text.endswith("=> (1 NIL)"), text)
        self.assertIn("last record is not whole", text)
        server.evaluate("(defvar *c* 3)")
        self.kill(server)
        server = self.start("--resume", "default", home=home)
        self.assertTrue(server.evaluate("(list *a* *c*)")[0].endswith("=> (1 3)"))

    def test_a_damaged_journal_gives_what_can_be_read_and_loses_nothing(self):
        home = self.make_home()
        self.leave_behind(home, "(defvar *a* 1)", "(defvar *b* 2)", "(defvar *c* 3)")
        path = journals(home)["default.journal"]
        damaged = path.read_bytes().replace(b"(defvar *b* 2)", b"(defvar *b* 9)", 1)
        path.write_bytes(damaged)
        server = self.start("--resume", "default", home=home)
        text, _ = server.evaluate("(list *a* (boundp '*b*) (boundp '*c*))")
        self.assertTrue(text.endswith("=> (1 NIL NIL)"), text)
        self.assertIn("damaged", text)
        self.assertEqual(journals(home)["default.journal.damaged"].read_bytes(), damaged)

    def test_what_is_no_journal_starts_empty_and_is_not_lost(self):
        home = self.make_home()
        self.leave_behind(home, "(defvar *a* 1)")
        path = journals(home)["default.journal"]
        path.write_bytes(b"rubbish\n" * 1000)
        server = self.start("--resume", "default", home=home)
        text, is_error = server.evaluate("(+ 1 2)")
        self.assertFalse(is_error)
        self.assertRegex(text, r"\A\[notice\]\nThe session starts empty: \S+ is not a journal that can be read\n\n=> 3\Z")
        self.assertEqual(journals(home)["default.1.journal"].read_bytes(), b"rubbish\n" * 1000)


class JournalFiles(support.TestCase):
    def test_nothing_is_written_without_a_journal(self):
        home = self.make_home()
        server = self.start("--no-journal", home=home)
        server.evaluate("(defvar *a* 1)")
        server.call("undo")
        server.call("sessions", action="fork", to="copy")
        server.evaluate("(defvar *b* 1)", session="copy")
        self.assertEqual(server.close(), 0)
        self.assertEqual(list((home.path / "state").rglob("*")), [])
        self.assertEqual(list((home.path / "home").rglob("*.journal")), [])

    def test_a_server_that_evaluates_nothing_moves_no_journal_aside(self):
        home = self.make_home()
        with support.Server(home=home) as server:
            server.evaluate("(defvar *a* 1)")
        before = {name: path.read_bytes() for name, path in journals(home).items()}
        server = self.start(home=home)
        server.request("tools/list")
        server.call("sessions", action="list")
        server.call("checkpoints", action="list")
        self.assertEqual(server.close(), 0)
        self.assertEqual({name: path.read_bytes() for name, path in journals(home).items()}, before)

    def test_earlier_lives_are_kept_and_can_be_resumed(self):
        home = self.make_home()
        for life in range(8):
            with support.Server(home=home) as server:
                server.evaluate(f"(defvar *life* {life})")
        self.assertEqual(set(journals(home)), {"default.journal", *(f"default.{number}.journal" for number in range(1, 6))})
        server = self.start("--resume", "default.3", home=home)
        self.assertTrue(server.evaluate("*life*")[0].endswith("=> 4"))

    def test_the_journal_is_text_with_the_code_and_what_came_of_it_and_for_nobody_else(self):
        home = self.make_home()
        with support.Server(home=home) as server:
            server.evaluate('(progn (format t "some output") (+ 40 2))')
        path = journals(home)["default.journal"]
        text = path.read_text()
        self.assertIn('(progn (format t "some output") (+ 40 2))\nsome output\n=> 42\n', text)
        self.assertEqual((path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777), (0o600, 0o700))

    def test_without_a_state_directory_it_is_below_the_home(self):
        home = self.make_home()
        with support.Server(home=home, env={"XDG_STATE_HOME": ""}) as server:
            server.evaluate("(defvar *a* 1)")
        self.assertEqual([path.name for path in pathlib.Path(home.path / "home/.local/state").rglob("*.journal")],
                         ["default.journal"])

    def test_a_signal_loses_nothing_either(self):
        home = self.make_home()
        server = self.start(home=home)
        server.evaluate("(defvar *a* 1)")
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(), 0)
        server = self.start("--resume", "default", home=home)
        self.assertTrue(server.evaluate("*a*")[0].endswith("=> 1"))


if __name__ == "__main__":
    unittest.main()
