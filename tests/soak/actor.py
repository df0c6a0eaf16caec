"""One sequence of sessions: chooses calls by chance, and checks their replies against the model."""

import collections
import os
import re
import signal

import support
from model import FINGERPRINT, Model, Refused, fingerprint, random_change

NOT_UNDONE = r" Files written, messages sent and programs started since are not undone\."
KEPT_CALLS = 16  # the server keeps the output of so many
REMEMBERED = 20  # calls of a session that a difference shows
# What a thread said, where a reply has nothing else of that kind. stop_thread() looks whether it was told.
THREAD_WORDS = re.compile(r"\[stdout(?: between calls)?\]\n(?:thread \d+ (?:speaks|murmurs|ends)\n)+\n")
KILL = "(sb-unix:unix-kill (sb-unix:unix-getpid) {})"

# Forms that end the process, and what the reply says of it.
DEATHS = (
    ("(sb-ext:exit :abort t)", "exited with code 1"),
    ("(sb-ext:exit :code 7 :abort t)", "exited with code 7"),
    ("(sb-ext:exit :code 3)", "exited with code 3"),
    (KILL.format(9), r"was killed by signal 9 \(Killed\)"),
    ('(sb-alien:alien-funcall (sb-alien:extern-alien "_exit" (function sb-alien:void sb-alien:int)) 5)', "exited with code 5"),
    ('(sb-alien:alien-funcall (sb-alien:extern-alien "abort" (function sb-alien:void)))', "exited with code 1"),
    ("(sb-thread:join-thread (sb-thread:make-thread (lambda () (sb-ext:exit :abort t :code 4))) :default nil)",
     "exited with code 4"),
    ("(sb-unix:unix-close 3)", "(was killed by signal 9|exited with code 0)"),  # who is first
)

# Forms that are an error and nothing else, and what the reply says.
ERRORS = (
    ('(error "no")', r"\[ERROR\] SIMPLE-ERROR\nno"),
    ("(car 1)", r"\[ERROR\] TYPE-ERROR"),
    ("(cl-user::no-such-function 1)", r"\[ERROR\] UNDEFINED-FUNCTION"),
    ("(setf (sb-sys:sap-ref-64 (sb-sys:int-sap 8) 0) 1)", r"\[ERROR\] .*[Mm]emory fault"),
    ("(labels ((f (x) (1+ (f x)))) (f 1))", r"\[ERROR\] STORAGE-CONDITION"),
    ("(make-array (expt 10 11))", r"\[ERROR\] .*[Hh]eap exhausted"),
    ("(throw 'cl-user::nowhere nil)", r"\[ERROR\] CONTROL-ERROR"),
    ("(list 1", r"\[ERROR\] END-OF-FILE"),
    (")", r"\[ERROR\] READER-ERROR"),
    ("(invoke-restart 'abort)", ""),
)

# Requests that are refused before any session hears of them.
NONSENSE = (
    ("no-such-tool", {}, "Unknown tool"),
    ("evaluate-lisp", {}, "missing required parameter 'code'"),
    ("evaluate-lisp", {"code": 5}, "'code' must be a string"),
    ("evaluate-lisp", {"code": "1", "wait": -1}, "'wait' must be a number"),
    ("evaluate-lisp", {"code": "1", "session": "nobody"}, "no session named 'nobody'"),
    ("undo", {"calls": 0}, "'calls'"),
    ("checkpoints", {"action": "burn"}, "'action'"),
    ("checkpoints", {"action": "save"}, "needs a 'name'"),
    ("sessions", {"action": "close", "session": "default"}, "always there"),
    ("sessions", {"action": "open", "session": "../x"}, "A session's name is made of"),
)


class Difference(Exception):
    """A reply is not what the model says."""


class Actor:
    """Lives through a number of calls: opens sessions, uses, forks and closes them. A script waits by yielding."""

    def __init__(self, driver, rng, slot, calls):
        self.driver = driver
        self.rng = rng
        self.slot = slot
        self.left = calls
        self.made = 0  # sessions
        self.name = None
        self.model = None
        self.history = None
        self.jobs = []  # (number, what its answer must be), finished and not read
        self.thread = None  # the number of the one that runs
        self.heard = ""  # all that replies said since it was started
        self.notice = None  # what the next reply must tell

    # The script.

    def script(self):
        yield from self.begin_session()
        while self.left > 0:
            yield from self.rng.choices(*zip(*self.acts()))[0]()
        yield from self.end_session()

    def acts(self):
        return (
            (self.act_evaluate, 30), (self.act_burst, 12), (self.act_error, 8), (self.act_die, 6), (self.act_undo, 6),
            (self.act_dry_run, 5), (self.act_checkpoint, 10), (self.act_list, 3), (self.act_reset, 2), (self.act_job, 4),
            (self.act_read_job, 3), (self.act_endless, 5), (self.act_take_back, 1), (self.act_thread, 3), (self.act_flood, 1),
            (self.act_kill_between, 1), (self.act_kill_at_once, 2), (self.act_nonsense, 3), (self.act_fork, 2),
            (self.act_move, 1), (self.act_stuck, 0.3),
        )

    def begin_session(self):
        """The first slot has the session that is always there."""
        if self.slot == 0 and self.made == 0:
            self.enter("default", self.driver.default)
            yield from self.finish(self.one_reset())
            return
        name = self.new_name()
        self.enter(name, Model())
        yield from self.check(self.call("sessions", action="open"), rf"Session '{name}' is open: a fresh Lisp\.")
        yield from self.evaluate([])  # A reset before the first step would leave nothing to undo.

    def end_session(self):
        yield from self.read_all_jobs()
        if self.name != "default":
            yield from self.check(self.call("sessions", action="close"), r"is closed, and its state is gone\.")
            return
        # It is there in the next round too: it must be as large then as it is now.
        for name in list(self.model.names):
            yield from self.check(self.call("checkpoints", action="drop", name=name), "Dropped")
        self.model.names.clear()
        yield from self.finish(self.one_reset())
        for _ in range(KEPT_CALLS):
            yield from self.evaluate([])

    def new_name(self):
        self.made += 1
        return f"slot-{self.slot}-{'ab'[self.made % 2]}"

    def enter(self, name, model):
        self.name, self.model, self.jobs, self.history = name, model, [], collections.deque(maxlen=REMEMBERED)
        self.thread, self.notice = None, None

    # Calls and their replies.

    def call(self, tool, token=None, **arguments):
        """Sends it; nothing is waited for."""
        self.left -= 1
        arguments = {"session": self.name, **arguments}
        request_id = self.driver.send(self, tool, arguments, token)
        self.history.append([request_id, tool, arguments, "(no reply)"])
        return request_id

    def replies(self, *request_ids):
        """Their texts, in order."""
        texts = []
        for request_id, reply in zip(request_ids, (yield "replies", request_ids)):
            text = reply["error"]["message"] if "error" in reply else support.text_of(reply)[0]
            for row in self.history:
                if row[0] == request_id:
                    row[3] = text
            self.heard += text
            texts.append(text)
        return texts

    def check(self, request_id, pattern):
        """Its reply has something that matches. Gives the text."""
        text, = yield from self.replies(request_id)
        self.compare(request_id, pattern, text)
        return text

    def compare(self, request_id, pattern, text):
        if self.notice:
            pattern, self.notice = rf"\A\[notice\]\n[^\n]*{self.notice}.*{pattern}", None
        elif "[notice]" in text:
            pattern = f"(no notice) {pattern}"
        if not re.search(pattern, THREAD_WORDS.sub("", text), re.DOTALL):
            self.differ(request_id, pattern, text)

    def differ(self, request_id, expected, got):
        lines = [f"DIFFERENCE in session {self.name}, call {request_id}", self.last_calls()]
        lines += [f"expected: {expected}", f"got:      {got[:3000]}"]
        raise Difference("\n".join(lines))

    def last_calls(self):
        lines = ["The last calls of this session:"]
        for number, tool, arguments, text in self.history:
            shown = {key: value for key, value in arguments.items() if key != "session"}
            lines.append(f"  {number} {tool} {str(shown).replace(FINGERPRINT, '[fingerprint]')[:600]}")
            lines.append("      " + " ".join(text.split())[:300])
        return "\n".join(lines)

    def shows(self, request_id, text, state, after=r"\Z"):
        """An evaluation's reply: its value is the state, and there is nothing else in it."""
        value = r"\s+".join(re.escape(word) for word in fingerprint(state).split())
        before = r"\n\n" if self.notice else r"\A"
        self.compare(request_id, rf"{before}=> {value}{after}", text)

    # Acts that need one call: each changes the model and gives (request id, check of its text).

    def start(self, code, **arguments):
        return self.call("evaluate-lisp", code=code, **arguments)

    def some_changes(self, most=3):
        return [random_change(self.rng) for _ in range(self.rng.randint(0, most))]

    def evaluation(self, changes):
        self.model.evaluate(changes)
        state = self.model.state
        request_id = self.start(code_of(changes) + FINGERPRINT)
        return request_id, lambda text: self.shows(request_id, text, state)

    def one_evaluation(self):
        return self.evaluation(self.some_changes())

    def one_in_another_package(self):
        """Its package is for that call only."""
        self.model.evaluate([])
        state = {**self.model.state, "package": "COMMON-LISP-USER"}
        request_id = self.start(FINGERPRINT, package="CL-USER")
        return request_id, lambda text: self.shows(request_id, text, state)

    def one_dry_run(self):
        changes = self.some_changes()
        try:
            state = self.model.dry_run(changes)
        except Refused as refusal:
            return self.refused(self.start(code_of(changes), keep=False), refusal)
        request_id = self.start(code_of(changes) + FINGERPRINT, keep=False)
        after = r"\n\nDry run: the session is as it was before this call\." + NOT_UNDONE + r"\Z"
        return request_id, lambda text: self.shows(request_id, text, state, after)

    def one_death(self):
        code, how = self.rng.choice(DEATHS)
        keep = self.model.is_safe and self.rng.random() < 0.2
        before = self.some_changes(2)
        back = self.model.die()
        request_id = self.start(code_of(before) + code, **({"keep": False} if keep else {}))
        pattern = rf"\[ERROR\] LISP-PROCESS-ENDED\nThe Lisp process {how}.* {back}.*{NOT_UNDONE}\Z"
        return request_id, lambda text: self.compare(request_id, pattern, text)

    def one_error(self):
        """What came before it stays."""
        code, pattern = self.rng.choice(ERRORS)
        changes = self.some_changes(2)
        self.model.evaluate(changes)
        request_id = self.start(code_of(changes) + code)
        return request_id, lambda text: self.compare(request_id, pattern, text)

    def refused(self, request_id, refusal):
        return request_id, lambda text: self.compare(request_id, str(refusal), text)

    def attempt(self, change, pattern, tool, **arguments):
        """A call that the model may refuse."""
        try:
            change()
        except Refused as refusal:
            return self.refused(self.call(tool, **arguments), refusal)
        request_id = self.call(tool, **arguments)
        return request_id, lambda text: self.compare(request_id, pattern, text)

    def one_undo(self):
        calls = self.rng.choice((1, 1, 1, 2, 3, 11))
        return self.attempt(lambda: self.model.undo(calls), rf"\AUndone: .*\nThe session is as it was after .*{NOT_UNDONE}\Z",
                            "undo", calls=calls)

    def one_save(self):
        name = f"c{self.rng.randrange(5)}"
        return self.attempt(lambda: self.model.save(name), rf"\ASaved checkpoint '{name}': the session after ",
                            "checkpoints", action="save", name=name)

    def one_restore(self):
        name = f"c{self.rng.randrange(5)}"
        return self.attempt(lambda: self.model.restore(name), rf"\ARestored checkpoint '{name}': .*{NOT_UNDONE}\Z",
                            "checkpoints", action="restore", name=name)

    def one_reset(self):
        return self.attempt(self.model.reset, r"\ASession reset\. All definitions cleared\.\nCurrent package: CL-USER\Z",
                            "reset-session")

    def finish(self, *starts):
        """Waits for calls that were sent, and checks each."""
        texts = yield from self.replies(*(request_id for request_id, _ in starts))
        for (_, check), text in zip(starts, texts):
            check(text)

    # What the script chooses from.

    def evaluate(self, changes):
        yield from self.finish(self.evaluation(changes))

    def act_evaluate(self):
        yield from self.finish(self.rng.choice((self.one_evaluation,) * 9 + (self.one_in_another_package,))())

    def act_burst(self):
        """Calls in one breath; they are carried out in their order."""
        kinds = (self.one_evaluation,) * 4 + (self.one_error, self.one_dry_run, self.one_death, self.one_undo, self.one_save,
                                              self.one_restore, self.one_reset)
        yield from self.finish(*[self.rng.choice(kinds)() for _ in range(self.rng.randint(2, 8))])

    def act_error(self):
        yield from self.finish(self.one_error())

    def act_die(self):
        yield from self.finish(self.one_death())

    def act_undo(self):
        yield from self.finish(self.one_undo())

    def act_dry_run(self):
        yield from self.finish(self.one_dry_run())

    def act_reset(self):
        yield from self.finish(self.one_reset())

    def act_checkpoint(self):
        if self.rng.random() < 0.2:
            name = f"c{self.rng.randrange(5)}"
            yield from self.finish(self.attempt(lambda: self.model.drop(name), rf"\ADropped checkpoint '{name}'\.",
                                                "checkpoints", action="drop", name=name))
        else:
            yield from self.finish(self.rng.choice((self.one_save, self.one_restore))())

    def act_list(self):
        """The lists know what the model knows."""
        yield from self.check(self.call("sessions", action="list"), rf"\n- {self.name}: ")
        request_id = self.call("checkpoints", action="list")
        text, = yield from self.replies(request_id)
        named, _, undo = text.partition("[Undo]")
        names = re.findall(r"^- (\S+): ", named, re.MULTILINE)
        steps = re.findall(r"^- \d+ calls? back: ", undo, re.MULTILINE)
        expected = sorted(self.model.names), len(self.model.steps) - 1
        if (names, len(steps)) != expected:
            self.differ(request_id, f"names and number of steps {expected}", text)
        text = yield from self.check(self.call("list-definitions"), "")
        for name in ("f0", "f1"):
            if (f"{name.upper()} ()" in text) != (self.model.state[name] is not None):
                self.differ(request_id, f"{name}: {self.model.state[name]}", text)

    def act_nonsense(self):
        tool, arguments, pattern = self.rng.choice(NONSENSE)
        notice, self.notice = self.notice, None
        yield from self.check(self.call(tool, **arguments), pattern)
        self.notice = notice

    def act_job(self):
        """A reply before the answer; the answer now, or later."""
        changes = self.some_changes()
        self.model.evaluate(changes)
        state = self.model.state
        request_id = self.start(f"(sleep {self.rng.choice((0, 0.01, 0.03))}) {code_of(changes)}{FINGERPRINT}",
                                wait=self.rng.choice((0, 0.005)))
        text, = yield from self.replies(request_id)
        job = re.search(r"\[(?:RUNNING|WAITING)\] Job (\d+) \(evaluate-lisp \(sleep", text)
        if not job:
            self.shows(request_id, text, state)
            return
        self.compare(request_id, r"continue-evaluation with job \d+ waits for it", text)
        self.jobs.append((int(job[1]), state))
        if self.rng.random() < 0.5:
            yield from self.read_all_jobs()
        else:
            yield from self.evaluate(self.some_changes())  # Behind it in the queue.

    def act_read_job(self):
        yield from self.read_all_jobs()
        notice, self.notice = self.notice, None
        yield from self.check(self.call("continue-evaluation"), r"NO-SUCH-JOB\nNothing is running")
        self.notice = notice

    def read_all_jobs(self):
        for job, state in self.jobs:
            notice, self.notice = self.notice, None
            request_id = self.call("continue-evaluation", job=job)
            text, = yield from self.replies(request_id)
            self.shows(request_id, text, state)
            self.notice = notice
        self.jobs = []

    def begin_endless(self, changes, **arguments):
        """An evaluation that is known to run, and its process. Progress shows the latest line, so no other may come after."""
        if self.model.has_thread:
            yield from self.stop_thread()
        token = next(self.driver.tokens)
        wait = self.rng.choice(("(loop (sleep 0.01))", "(sleep 1000)", "(loop)"))
        request_id = self.start(f'{code_of(changes)}(progn (format t "ready ~d~%" (sb-unix:unix-getpid)) (finish-output) {wait})',
                                token=token, **arguments)
        words = yield "progress", token
        if not words.startswith("ready "):
            self.differ(request_id, "ready and a number, as progress", words)
        return request_id, int(words.split()[1])

    def act_endless(self):
        """It is stopped in one of the ways there are."""
        changes = self.some_changes(2)
        way = self.rng.choice(("interrupt", "cancel", "kill", "timeout"))
        request_id, pid = yield from self.begin_endless(changes, **({"timeout": 0.3} if way == "timeout" else {}))
        if way == "kill":
            back = self.model.die()
            os.kill(pid, signal.SIGKILL)
            yield from self.check(request_id, rf"LISP-PROCESS-ENDED\nThe Lisp process was killed by signal 9 .*{back}.*{NOT_UNDONE}\Z")
            return
        self.model.evaluate(changes)
        unwound = "was interrupted: it unwound, its cleanup forms ran, and the session keeps what it did until then"
        if way == "timeout":
            yield from self.check(request_id, rf"\[ERROR\] TIMEOUT\nThe evaluation reached its timeout of 0\.3 s and {unwound}")
        elif way == "interrupt":
            asked = self.call("interrupt-evaluation")
            for text in (yield from self.replies(request_id, asked)):
                self.compare(asked, rf"ready {pid}.*\[ERROR\] INTERRUPTED\nThe evaluation {unwound}.*\[Backtrace\]", text)
        else:
            self.driver.cancel(request_id)
        yield from self.evaluate([])

    def act_take_back(self):
        """Calls that wait behind another are taken back: they do nothing, and only the interrupted one is answered."""
        running, _ = yield from self.begin_endless([])
        behind = self.start("(setf (symbol-value 'cl-user::s0) -1)")
        self.driver.cancel(behind)
        self.driver.cancel(running)
        self.model.evaluate([])
        yield from self.evaluate([])

    def act_stuck(self):
        """The second rung of the ladder."""
        back = self.model.die()
        yield from self.check(self.start("(setf (symbol-value 'cl-user::s0) -2) (sb-sys:without-interrupts (loop))", timeout=0.2),
                              rf"\[ERROR\] TIMEOUT\n.*did not stop when it was interrupted, so its Lisp process was ended\. {back}")

    def act_thread(self):
        """A thread that speaks during a call, perhaps between calls, and at its end."""
        if self.model.has_thread:
            yield from self.stop_thread()
            return
        self.thread = number = next(self.driver.tokens)
        self.heard = ""
        self.model.has_thread = True
        self.model.evaluate([])
        # It writes to the descriptor: two threads that flush one of SBCL's streams at the same time may write twice.
        code = ("(defvar cl-user::stop) (defvar cl-user::thread) (setf cl-user::stop nil) "
                f'(flet ((say (what) (let ((s (format nil "thread {number} ~a~%" what))) '
                "(sb-unix:unix-write 1 (sb-ext:string-to-octets s) 0 (length s))))) "
                "(let ((spoke (sb-thread:make-semaphore))) (setf cl-user::thread (sb-thread:make-thread (lambda () "
                '(say "speaks") (sb-thread:signal-semaphore spoke) (sleep 0.02) (say "murmurs") '
                '(loop until cl-user::stop do (sleep 0.005)) (say "ends")))) '
                "(sb-thread:wait-on-semaphore spoke)))" + FINGERPRINT)
        request_id = self.start(code)
        text, = yield from self.replies(request_id)
        self.shows(request_id, text, self.model.state)
        if f"thread {number} speaks" not in text:
            self.differ(request_id, f"thread {number} speaks", text)

    def stop_thread(self):
        yield from self.read_all_jobs()  # What the thread said meanwhile may be in their answers.
        self.model.has_thread = False
        self.model.evaluate([])
        request_id = self.start("(setf cl-user::stop t) (sb-thread:join-thread cl-user::thread) " + FINGERPRINT)
        text, = yield from self.replies(request_id)
        self.shows(request_id, text, self.model.state)
        for word in ("speaks", "murmurs", "ends"):
            if self.heard.count(f"thread {self.thread} {word}") != 1:
                self.differ(request_id, f"thread {self.thread} {word}, told once", self.heard)
        self.thread = None

    def act_flood(self):
        """Some MB of output: the reply is short, and the middle can be read."""
        if self.model.has_thread:
            yield from self.stop_thread()  # What it says might be in the middle, which the reply leaves out.
        lines = self.rng.randint(20_000, 60_000)
        self.model.evaluate([])
        request_id = self.start(f'(dotimes (i {lines}) (format t "line ~d of a flood that goes on and on and on~%" (1+ i)))')
        text = yield from self.check(request_id, r"line 1 of .*read-output.*=> NIL\Z")
        if len(text) > 33_000:
            self.differ(request_id, "32,000 characters", f"{len(text)} characters")
        middle = self.rng.randint(1, lines)
        yield from self.check(self.call("read-output", lines=1, **{"from": middle}), rf"\nline {middle} of a flood")

    def act_kill_between(self):
        """The process is killed while nothing runs; the next reply tells of it."""
        self.model.evaluate([])
        text = yield from self.check(self.start("(sb-unix:unix-getpid)"), r"=> \d+\Z")
        yield from self.check(self.call("list-definitions"), "")  # Answered when the checkpoint is made.
        pid = int(text.rpartition("=> ")[2])
        os.kill(pid, signal.SIGKILL)
        support.wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the server has heard of it")
        back = self.model.die()
        self.notice = rf"was killed by signal 9 \(Killed\)\. This happened between two calls\. {back}"
        yield from self.evaluate([])

    def act_kill_at_once(self):
        """The process is killed while its checkpoint is perhaps being made, or the next call running: all that the reply says
        of it is true."""
        changes = self.some_changes()
        self.model.evaluate(changes)
        request_id = self.start(f"{code_of(changes)}(list (sb-unix:unix-getpid) {FINGERPRINT})")
        text, = yield from self.replies(request_id)
        pid = int(re.search(r"=> \((\d+)", text)[1])
        support.kill(pid, signal.SIGKILL)
        request_id = self.start(FINGERPRINT)
        text, = yield from self.replies(request_id)
        if "[notice]" in text:
            self.notice = r"This happened between two calls\. " + self.model.die("older checkpoint" in text)
            self.model.evaluate([])
            self.shows(request_id, text, self.model.state)
        else:
            self.compare(request_id, r"LISP-PROCESS-ENDED\n.*" + self.model.die(), text)

    def act_fork(self):
        """A copy that has the state; then one of the two goes."""
        yield from self.read_all_jobs()
        name = self.new_name()
        if name == self.name:
            name = self.new_name()
        try:
            copy = self.model.fork()
        except Refused as refusal:
            yield from self.check(self.call("sessions", action="fork", to=name), str(refusal))
            return
        yield from self.check(self.call("sessions", action="fork", to=name), rf"Session '{name}' is open: a copy of session {self.name} after")
        original = self.name, self.model
        self.enter(name, copy)
        for _ in range(3):
            yield from self.act_burst()
        if self.name != "default" and original[0] != "default" and self.rng.random() < 0.5:
            kept, closed = (self.name, self.model), original[0]
        else:
            kept, closed = original, self.name
        self.enter(*kept)
        yield from self.evaluate([])
        yield from self.check(self.call("sessions", action="close", session=closed), "is closed, and its state is gone")

    def act_move(self):
        """Another session, whatever this one is in the middle of."""
        if self.name != "default":
            waiting = [self.start("(sleep 1000)") for _ in range(self.rng.randint(0, 3))]
            yield from self.check(self.call("sessions", action="close"), "is closed, and its state is gone")
            for text in (yield from self.replies(*waiting)):
                self.compare(waiting[0], rf"SESSION-CLOSED\nThe session '{self.name}' was closed\.", text)
            yield from self.begin_session()


def code_of(changes):
    return "".join(change.code + " " for change in changes)
