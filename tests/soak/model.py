"""What a session's state must be: the same calls that the server gets, done to a few Python values.

A session is a list of steps, the last of which is the present; names are given to steps. A step without a checkpoint (a
thread was running) can only be come back to by doing its definitions again on top of the last step that has one.
"""

import dataclasses

UNDO_DEPTH = 10
MOST_NAMES = 20
SCALARS = ("v0", "v1", "v2", "s0", "s1")  # the v are made by defining forms, the s are only assigned
FUNCTIONS = ("f0", "f1")
FRESH = {"package": "COMMON-LISP-USER", "table": None, **dict.fromkeys(SCALARS + FUNCTIONS)}

# Shows the whole state as one list. Symbols have their package with them, since the session's may be any.
FINGERPRINT = ("(flet ((v (s) (and (boundp s) (symbol-value s))) (f (s) (and (fboundp s) (funcall s)))) "
               "(list (package-name *package*) "
               + " ".join(f"(v 'cl-user::{name})" for name in SCALARS) + " "
               + " ".join(f"(f 'cl-user::{name})" for name in FUNCTIONS)
               + " (let ((h (v 'cl-user::table))) (and h (list (hash-table-count h) "
                 "(loop for n being the hash-values of h sum n))))))")


def fingerprint(state):
    """What FINGERPRINT prints in that state, on one line."""
    def text(value):
        return "NIL" if value is None else str(value)
    table = state["table"]
    shown = [f'"{state["package"]}"', *(text(state[name]) for name in SCALARS + FUNCTIONS),
             "NIL" if table is None else f"({len(table)} {sum(table.values())})"]
    return "(" + " ".join(shown) + ")"


@dataclasses.dataclass(frozen=True)
class Change:
    """One top-level form, and what it does to a state."""
    code: str
    apply: object  # from a state to the next one
    is_definition: bool


def assign(name, value, is_definition, code):
    return Change(code, lambda state: {**state, name: value}, is_definition)


def random_change(rng):
    number = rng.randrange(1000)
    variable, other, function = rng.choice(SCALARS[:3]), rng.choice(SCALARS[3:]), rng.choice(FUNCTIONS)
    key = rng.randrange(20)
    return rng.choice((
        lambda: assign(variable, number, True, f"(defparameter cl-user::{variable} {number})"),
        lambda: Change(f"(defvar cl-user::{variable} {number})",
                       lambda s: s if s[variable] is not None else {**s, variable: number}, True),
        lambda: assign(variable, None, True, f"(makunbound 'cl-user::{variable})"),
        lambda: assign(other, number, False, f"(setf (symbol-value 'cl-user::{other}) {number})"),
        # Twice done, or not at all, it shows.
        lambda: Change(f"(setf (symbol-value 'cl-user::{other}) (1+ (if (boundp 'cl-user::{other}) cl-user::{other} 0)))",
                       lambda s: {**s, other: (s[other] or 0) + 1}, False),
        lambda: assign(function, number, True, f"(defun cl-user::{function} () {number})"),
        lambda: assign(function, None, True, f"(fmakunbound 'cl-user::{function})"),
        lambda: Change("(defvar cl-user::table (make-hash-table))",
                       lambda s: s if s["table"] is not None else {**s, "table": {}}, True),
        lambda: Change(f"(when (boundp 'cl-user::table) (setf (gethash {key} cl-user::table) {number}))",
                       lambda s: s if s["table"] is None else {**s, "table": {**s["table"], key: number}}, False),
        lambda: assign("package", "P0", True, "(progn (defpackage :p0 (:use :cl)) (in-package :p0))"),
        lambda: assign("package", "COMMON-LISP-USER", True, "(in-package :cl-user)"),
        # The heap moves; the state does not.
        lambda: Change("(length (make-array 300000 :initial-element 1))", lambda s: s, False),
        lambda: Change("(sb-ext:gc)", lambda s: s, False)))()


@dataclasses.dataclass(frozen=True)
class Step:
    state: dict
    definitions: tuple = ()
    is_safe: bool = True


class Refused(Exception):
    """The call changes nothing; its reply matches this pattern."""


class Model:
    """One session."""

    def __init__(self, state=None):
        self.steps = [Step(state or FRESH)]
        self.names = {}
        self.has_thread = False

    @property
    def state(self):
        return self.steps[-1].state

    @property
    def is_safe(self):
        return self.steps[-1].is_safe

    def evaluate(self, changes):
        """The evaluation of these forms came to an end, by itself or by an interrupt."""
        state = applied(self.state, changes)
        self._add(Step(state, tuple(change for change in changes if change.is_definition), not self.has_thread))

    def dry_run(self, changes):
        """The state that it shows."""
        if not self.is_safe:
            raise Refused(r"NO-CHECKPOINT\nA dry run needs a checkpoint.*Nothing was evaluated\.")
        return applied(self.state, changes)

    def undo(self, calls):
        possible = len(self.steps) - 1
        if calls > possible:
            raise Refused(r"NO-CHECKPOINT\n" + ("There is nothing to undo in this session" if possible == 0 else
                                                rf"Only {possible} calls? can be undone"))
        if not self.steps[-1 - calls].is_safe:
            raise Refused(r"NO-CHECKPOINT\nThere is no checkpoint of the state after call")
        del self.steps[-calls:]
        self.has_thread = False

    def save(self, name):
        if not self.is_safe:
            raise Refused(r"NO-CHECKPOINT\nNo checkpoint can be made: Threads are running")
        if name not in self.names and len(self.names) >= MOST_NAMES:
            raise Refused(r"TOO-MANY-CHECKPOINTS\n")
        self.names[name] = self.steps[-1]

    def restore(self, name):
        if name not in self.names:
            raise Refused(rf"NO-CHECKPOINT\nThere is no checkpoint named '{name}'")
        self.has_thread = False
        self._add(self.names[name])

    def drop(self, name):
        if self.names.pop(name, None) is None:
            raise Refused(rf"There is no checkpoint named '{name}'")

    def reset(self):
        self.has_thread = False
        self._add(Step(FRESH), is_ready=True)

    def fork(self):
        if self.has_thread:
            raise Refused(r"NO-CHECKPOINT\nThe session cannot be copied: Threads are running")
        return Model(self.state)

    def die(self, without_last=False):
        """The process is gone, perhaps before it left the checkpoint of its last step. What the reply says of the state."""
        self.has_thread = False
        lost = 1 if without_last else 0
        while not self.steps[-1 - lost].is_safe:
            lost += 1
        if lost == 0:
            return r"The session is back to its state (before this call|before that evaluation|after the last call)\."
        definitions = [change for step in self.steps[-lost:] for change in step.definitions]
        del self.steps[-lost:]
        self._add(Step(applied(self.state, definitions), tuple(definitions)))
        return r"The session is back to an older checkpoint, since there could be no newer one: "

    def _add(self, step, is_ready=False):
        """Old steps go, but not the only safe one; and the checkpoint of the new one is made later, unless it is ready."""
        self.steps.append(step)
        end = len(self.steps) if is_ready else -1
        while len(self.steps) > UNDO_DEPTH + 1 and any(step.is_safe for step in self.steps[1:end]):
            del self.steps[0]


def applied(state, changes):
    for change in changes:
        state = change.apply(state)
    return state
