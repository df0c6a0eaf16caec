"""A small MCP client and the bookkeeping around a server process, for the end-to-end tests.

The program under test is $CL_MCP_SERVER, or build/cl-mcp-server of this repository.
"""

import json
import os
import pathlib
import queue
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
import uuid

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(os.environ.get("CL_MCP_SERVER") or REPOSITORY / "build/cl-mcp-server")
IS_SANITIZED = "sanitize" in PROGRAM

REPLY_SECONDS = 60
EXIT_SECONDS = 20
REST_SECONDS = 0.2  # an idle session whose processes stay as they are for this long has made its checkpoint
MOST_CHECKPOINTS = 11  # that a session keeps by itself: its present state, and ten calls to undo
GONE_SECONDS = 2  # what the product promises after a signal or a lost reader

NEWEST_REVISION = "2025-11-25"


class Timeout(AssertionError):
    """Something that had to happen did not happen in time."""


def wait_until(condition, what, seconds=REPLY_SECONDS):
    """Polls a condition that no event announces, such as a process in /proc being gone."""
    deadline = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise Timeout(f"not within {seconds} s: {what}")
        time.sleep(0.005)


def shared_cache():
    """One FASL cache for a whole run, so that a library is compiled once; the runner names it."""
    return os.environ.get("CL_MCP_TEST_CACHE")


class Home:
    """A fresh directory to start a server in, with a home of its own, so that no file of the user matters."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="cl-mcp-test-")).resolve()
        self.cwd = self.path / "work"
        self.mark = str(uuid.uuid4())
        for name in ("work", "home", "config", "data", "state", "cache", "run"):
            (self.path / name).mkdir()
        (self.path / "run").chmod(0o700)

    def environment(self, more=None):
        """What the server sees. CL_MCP_TEST_MARK is how processes it leaves behind are found."""
        environment = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "HOME": str(self.path / "home"),
            "XDG_CONFIG_HOME": str(self.path / "config"),
            "XDG_DATA_HOME": str(self.path / "data"),
            "XDG_STATE_HOME": str(self.path / "state"),
            "XDG_CACHE_HOME": shared_cache() or str(self.path / "cache"),
            "XDG_RUNTIME_DIR": str(self.path / "run"),
            "TMPDIR": str(self.path / "run"),
            "CL_MCP_TEST_MARK": self.mark,
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                environment[name] = os.environ[name]
        environment.update(more or {})
        return environment

    def write(self, name, text):
        path = self.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def processes(self):
        """Living processes that inherited our mark, as {pid: command line}. A zombie does not live."""
        return {pid: command_line(pid) for pid in pids() if self._is_ours(pid)}

    def _is_ours(self, pid):
        try:
            environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False
        return f"CL_MCP_TEST_MARK={self.mark}".encode() in environment.split(b"\0") and state(pid) not in "ZX"

    def wait_until_no_process_is_left(self, seconds=GONE_SECONDS):
        try:
            wait_until(lambda: not self.processes(), "no process is left", seconds)
        except Timeout:
            raise Timeout(f"processes are left behind: {self.processes()}") from None

    def remove(self):
        for pid in self.processes():
            kill(pid, signal.SIGKILL)
        shutil.rmtree(self.path, ignore_errors=True)


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def status(pid):
    """The fields of /proc/PID/status; empty when the process is gone."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def state(pid):
    return status(pid).get("State", "X")[0]


def command_line(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def children(pid):
    """Direct children, zombies too: a server that reaps has none of them. Not the guardian and the template of the
    workers, which live as long as the server and stand for nothing that was started."""
    def counts(child):
        fields = status(child)
        return fields.get("PPid", "").strip() == str(pid) and name_of(fields) not in ("cl-mcp-guardian", "lisp-template")
    return [child for child in pids() if counts(child)]


def name_of(fields):
    return fields.get("Name", "").strip()


def templates(pid):
    """The processes that the workers of the server are copies of; one, once there has been a worker."""
    return [child for child in pids()
            if status(child).get("PPid", "").strip() == str(pid) and name_of(status(child)) == "lisp-template"]


def target(pid, fd):
    """What a descriptor leads to; empty when it is closed or the process is gone."""
    try:
        return os.readlink(f"/proc/{pid}/fd/{fd}")
    except OSError:
        return ""


def is_lisp(pid):
    """Whether a child of the server lives and has a control socket; a program that user code started has none."""
    return state(pid) not in "ZX" and target(pid, 3).startswith("socket:")


def is_frozen(pid):
    """Whether a child of the server is a checkpoint; it says so in its name."""
    return name_of(status(pid)) == "lisp-frozen"


def started(pid):
    """When the process was started, in ticks of the clock; later than any other when it is gone."""
    try:
        line = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return float("inf")
    return int(line.rsplit(")", 1)[1].split()[19])


def open_descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident_megabytes(pid):
    return int(status(pid)["VmRSS"].split()[0]) / 1024


def kill(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Server:
    """The program, its standard streams, and the client's half of the protocol."""

    def __init__(self, *arguments, home=None, env=None, revision=NEWEST_REVISION, stdout=None, program=PROGRAM):
        self._owns_home = home is None
        self.home = home or Home()
        self.garbage = []  # lines of standard output that are no JSON: there must be none
        self._lines = queue.Queue()
        self._kept = []
        self._next_id = 1
        self._errors = tempfile.TemporaryFile()
        try:
            self._start([program, *arguments], env, stdout)
            if revision:
                self.handshake(revision)
        except BaseException:
            self.home.remove()
            raise

    def _start(self, command, env, stdout):
        self.process = subprocess.Popen(
            command, cwd=self.home.cwd, env=self.home.environment(env), bufsize=0,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE if stdout is None else stdout, stderr=self._errors)
        os.set_blocking(self.process.stdin.fileno(), False)
        if stdout is None:
            threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self._errors):
            if stream:
                stream.close()
        if self._owns_home:
            self.home.remove()

    @property
    def pid(self):
        return self.process.pid

    def _read(self):
        with os.fdopen(os.dup(self.process.stdout.fileno()), "rb") as output:
            for line in output:
                self._lines.put(line)
        self._lines.put(None)

    # Sending.

    def send_bytes(self, data, seconds=REPLY_SECONDS):
        """Writes all of it; a server that stops reading is a failure, not a hang."""
        deadline = time.monotonic() + seconds
        view = memoryview(data)
        fd = self.process.stdin.fileno()
        while view:
            _, ready, _ = select.select([], [fd], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise Timeout(f"the server does not read its input ({len(view)} bytes left)")
            view = view[os.write(fd, view):]

    def send(self, message):
        if isinstance(message, dict) and "jsonrpc" not in message:
            message = {"jsonrpc": "2.0", **message}
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def notify(self, method, params=None):
        self.send({"method": method, **({} if params is None else {"params": params})})

    def send_request(self, method, params=None):
        """Sends and does not wait; the id is for wait_for()."""
        request_id = self._next_id
        self._next_id += 1
        self.send({"id": request_id, "method": method, **({} if params is None else {"params": params})})
        return request_id

    def send_evaluation(self, code, **arguments):
        return self.send_request("tools/call", {"name": "evaluate-lisp", "arguments": {"code": code, **arguments}})

    def close_input(self):
        self.process.stdin.close()

    # Receiving.

    def receive(self, seconds=REPLY_SECONDS):
        """The next message, or None at the end of the server's output."""
        if self._kept:
            return self._kept.pop(0)
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            raise Timeout(f"no message within {seconds} s; standard error: {self.errors()!r}") from None
        if line is None:
            self._lines.put(None)
            return None
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, (dict, list)) or not line.endswith(b"\n"):
            self.garbage.append(line)
            raise AssertionError(f"standard output holds something that is no message: {line[:200]!r}")
        return message

    def wait_for(self, request_id, seconds=REPLY_SECONDS):
        """The reply to one request; other messages are kept for later."""
        others = []
        try:
            while True:
                message = self.receive(seconds)
                if message is None:
                    raise AssertionError(f"the output ended before the reply to {request_id!r}; "
                                         f"standard error: {self.errors()!r}")
                if isinstance(message, dict) and message.get("id") == request_id and "method" not in message:
                    return message
                others.append(message)
        finally:
            self._kept = others + self._kept

    def rest(self, seconds=EXIT_SECONDS):
        """All messages up to the end of the output."""
        messages = []
        while (message := self.receive(seconds)) is not None:
            messages.append(message)
        return messages

    def put_back(self, message):
        """Has receive() give this message again."""
        self._kept.insert(0, message)

    def take_progress(self, token):
        """The progress of one request that came so far, oldest first, as (progress, message or None). It is complete
        once wait_for() has given the reply."""
        mine = [message for message in self._kept if is_progress(message) and message["params"]["progressToken"] == token]
        self._kept = [message for message in self._kept if message not in mine]
        return [(message["params"]["progress"], message["params"].get("message")) for message in mine]

    # Conversations.

    def request(self, method, params=None, seconds=REPLY_SECONDS):
        return self.wait_for(self.send_request(method, params), seconds)

    def handshake(self, revision=NEWEST_REVISION):
        # Its own id, so that a test's ids start from 1.
        self.send({"id": "handshake", "method": "initialize", "params": {
            "protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
        reply = self.wait_for("handshake")
        self.notify("notifications/initialized")
        return reply

    def call(self, tool, seconds=REPLY_SECONDS, **arguments):
        """A tool's answer as (text, is_error)."""
        return text_of(self.request("tools/call", {"name": tool, "arguments": arguments}, seconds))

    def evaluate(self, code, **arguments):
        return self.call("evaluate-lisp", code=code, **arguments)

    def workers(self):
        """Living Lisp processes that serve, oldest first. Just after a call the next checkpoint may be among them."""
        living = [pid for pid in children(self.pid) if is_lisp(pid) and not is_frozen(pid)]
        return sorted(living, key=lambda pid: (started(pid), pid))

    def checkpoints(self):
        """Frozen copies of workers that wait to take their place."""
        return [pid for pid in children(self.pid) if is_lisp(pid) and is_frozen(pid)]

    def wait_until_at_rest(self, seconds=REPLY_SECONDS):
        """Until the session's processes have not changed for a while, so that the checkpoint of the last call is made;
        then (worker, checkpoints). Nothing announces it: the reply comes before the checkpoint."""
        last = [None, 0.0]

        def is_at_rest():
            now = self.workers(), self.checkpoints()
            if now != last[0] or len(now[0]) != 1:
                last[:] = now, time.monotonic()
            return time.monotonic() - last[1] > REST_SECONDS
        wait_until(is_at_rest, "one worker and a checkpoint that stay", seconds)
        return last[0][0][0], last[0][1]

    def start_endless_evaluation(self, code="(progn RUNNING (loop))"):
        """Returns once Lisp is in it: RUNNING becomes a form that writes a file, and we wait for that file."""
        running = self.home.cwd / f"running-{uuid.uuid4()}"
        request_id = self.send_evaluation(
            code.replace("RUNNING", f'(with-open-file (s "{running}" :direction :output))'))
        wait_until(running.exists, "the evaluation runs")
        return request_id

    # The end.

    def errors(self):
        return os.pread(self._errors.fileno(), 1 << 20, 0).decode(errors="replace")

    def wait(self, seconds=EXIT_SECONDS):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Timeout(f"the server does not exit within {seconds} s") from None

    def close(self, seconds=EXIT_SECONDS):
        """End of input, exit code; nothing may be left running."""
        self.close_input()
        code = self.wait(seconds)
        self.home.wait_until_no_process_is_left()
        return code


def is_progress(message):
    return isinstance(message, dict) and message.get("method") == "notifications/progress"


def text_of(reply):
    result = reply["result"]
    return result["content"][0]["text"], result["isError"]


class TestCase(unittest.TestCase):
    """A test that starts servers; they and their directories are gone when it ends."""

    def start(self, *arguments, **options):
        server = Server(*arguments, **options)
        self.addCleanup(server.__exit__)
        return server

    def make_home(self):
        home = Home()
        self.addCleanup(home.remove)
        return home

    def assert_alive(self, server):
        """The next request is answered, by Lisp too."""
        self.assertEqual(server.request("ping")["result"], {})
        self.assertEqual(server.evaluate("(+ 1 2)"), ("=> 3", False))

    def assert_only_one_session_runs(self, server, seconds=5):
        """One worker, what it keeps as checkpoints, and no zombie."""
        def is_so():
            known = server.workers() + server.checkpoints()
            return (len(server.workers()) == 1 and len(server.checkpoints()) <= MOST_CHECKPOINTS
                    and sorted(known) == sorted(children(server.pid)))
        wait_until(is_so, "one worker, its checkpoint and no zombie", seconds)

    def assert_gone_in_time(self, server, since):
        """The promise after a signal or a lost reader: gone within 2 s, and nothing left."""
        code = server.wait(EXIT_SECONDS)
        seconds = time.monotonic() - since
        server.home.wait_until_no_process_is_left()
        self.assertLess(seconds, GONE_SECONDS * (3 if IS_SANITIZED else 1))
        return code
