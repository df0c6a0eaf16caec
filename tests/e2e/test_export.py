"""`cl-mcp-server export`: a session's journal becomes a file that a plain SBCL loads."""

import shutil
import subprocess
import unittest

import support

OUTPUT, JOURNAL = 4, 7  # src/app/exit_code.h

TIME = "2026-11-15T06:30:00Z"


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def record(head, *parts):
    """A record as src/session/journal_text.h describes it; `{}` in the head are the lengths of the parts."""
    parts = [part.encode() for part in parts]
    head = (";;; " + head.format(*map(len, parts))).encode()
    body = b"".join(part + b"\n" for part in parts)
    return head + f" · check {fnv(head + body):016x}\n".encode() + body


def owner(directory, session="default"):
    return record("cl-mcp-server journal 1 · session {} in {}", session, str(directory))


def definition(number, after, text, package="COMMON-LISP-USER"):
    return record(f"{number} after {after} · {TIME} · evaluate-lisp · code {{}} · outcome {{}} · definition {{}} in {{}}",
                  text, "=> X", text, package)


class Export(support.TestCase):
    def write_journal(self, home, *records, name="default", folder="work-00000000"):
        path = home.path / "state/cl-mcp-server/journals" / folder / f"{name}.journal"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(owner(home.cwd) + b"".join(records))
        return path

    def export(self, home, *arguments, **options):
        return subprocess.run([support.PROGRAM, "export", *arguments], capture_output=True, text=True, cwd=home.cwd,
                              env=home.environment(), timeout=support.EXIT_SECONDS, check=False, **options)

    def load(self, home, text, form):
        """What a plain SBCL prints for `form` once it has loaded the file."""
        path = home.write("exported.lisp", text)
        done = subprocess.run(["sbcl", "--noinform", "--non-interactive", "--no-sysinit", "--no-userinit",
                               "--load", str(path), "--eval", f"(print {form})"],
                              capture_output=True, text=True, cwd=home.cwd, env=home.environment(), timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip().splitlines()[-1].strip()

    @unittest.skipUnless(shutil.which("sbcl"), "there is no sbcl")
    def test_what_is_exported_loads_in_a_plain_lisp(self):
        home = self.make_home()
        self.write_journal(
            home,
            definition(1, 0, '(defpackage "shapes \\"λ\\"" (:use))'),
            definition(2, 1, "(cl:defun area (x) #|twice|# (cl:* x 2))", 'shapes "λ"'),
            definition(3, 2, "(defun undone () 1)"),
            record(f"back to 2 · {TIME}"),
            definition(4, 2, "(set-macro-character #\\! (lambda (s c) (declare (ignore c)) `(list 1 ,(read s))))"),
            definition(5, 4, '(defun both (x)\n  "→ 𝄞"\n  !(|shapes "λ"|::area x))'),
            record(f"6 after 5 · {TIME} · load-system · outcome {{}} · systems · system {{}}", "Loaded", "sb-posix"))
        done = self.export(home, "default")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("undone", done.stdout)
        self.assertEqual(self.load(home, done.stdout, '(list (both 4) (documentation (quote both) (quote function)) '
                                                      '(not (find-package "SB-POSIX")))'), '((1 8) "→ 𝄞" NIL)')

    def test_it_goes_to_a_file_where_one_is_named(self):
        home = self.make_home()
        self.write_journal(home, definition(1, 0, "(defvar *a* 1)"))
        done = self.export(home, "default", "--output", "out.lisp")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("(defvar *a* 1)", (home.cwd / "out.lisp").read_text())
        done = self.export(home, "default", "--output", "/nonexistent/out.lisp")
        self.assertEqual(done.returncode, OUTPUT)
        self.assertIn("/nonexistent/out.lisp: No such file or directory", done.stderr)

    def test_a_journal_of_another_directory_is_named(self):
        home = self.make_home()
        self.write_journal(home, definition(1, 0, "(defvar *a* 1)"))
        done = self.export(home, "default")
        self.assertIn(f"This is the journal of {home.cwd}", done.stderr)

    def test_one_that_is_not_there_is_one_sentence_with_those_that_are(self):
        home = self.make_home()
        done = self.export(home, "default")
        self.assertEqual((done.returncode, done.stdout), (JOURNAL, ""))
        self.assertRegex(done.stderr, r"\A[^\n]*There is no journal[^\n]*\n\Z")
        self.write_journal(home, definition(1, 0, "(defvar *a* 1)"), name="other")
        done = self.export(home, "default")
        self.assertEqual(done.returncode, JOURNAL)
        self.assertRegex(done.stderr, rf"\A[^\n]*'default'; there is 'other' of {home.cwd}[^\n]*\n\Z")

    def test_a_torn_end_is_left_out_with_a_word(self):
        home = self.make_home()
        self.write_journal(home, definition(1, 0, "(defvar *a* 1)"), definition(2, 1, "(defvar *b* 1)")[:-3])
        done = self.export(home, "default")
        self.assertEqual(done.returncode, 0)
        self.assertIn("*a*", done.stdout)
        self.assertNotIn("*b*", done.stdout)
        self.assertIn("last record is not whole", done.stderr)

    def test_a_file_that_is_no_journal_is_one_sentence(self):
        home = self.make_home()
        self.write_journal(home).write_bytes(b"rubbish\n")
        done = self.export(home, "default")
        self.assertEqual((done.returncode, done.stdout), (JOURNAL, ""))
        self.assertIn("is not a journal", done.stderr)


if __name__ == "__main__":
    unittest.main()
