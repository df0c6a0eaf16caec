"""A worker image at the other end of a socket pair: the server's half of docs/AGENT-PROTOCOL.md."""

import ctypes
import os
import selectors
import signal
import socket
import subprocess

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
IMAGE = os.environ.get("CL_MCP_WORKER", os.path.join(REPO, "build", "cl-mcp-worker"))
OPTIONS = ["--noinform", "--disable-ldb"]
PATIENCE = 60.0  # seconds; a bound for a broken worker, never waited for by a working one


class Died(Exception):
    """The worker closed its end of the socket."""


class Keyword(str):
    """A keyword of the wire, without its colon."""


def write_form(form):
    if form is None:
        return "nil"
    if form is True:
        return "t"
    if isinstance(form, Keyword):
        return ":" + form
    if isinstance(form, str):
        return '"' + form.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(form, int):
        return str(form)
    return "(" + " ".join(write_form(element) for element in form) + ")"


def read_form(text, at=0):
    """The form at `at` and the position behind it."""
    if text[at] == "(":
        elements, at = [], at + 1
        while text[at] != ")":
            if text[at] == " ":
                at += 1
            element, at = read_form(text, at)
            elements.append(element)
        return elements, at + 1
    if text[at] == '"':
        characters, at = [], at + 1
        while text[at] != '"':
            if text[at] == "\\":
                at += 1
            characters.append(text[at])
            at += 1
        return "".join(characters), at + 1
    end = at
    while end < len(text) and text[end] not in ' ()"':
        end += 1
    token = text[at:end]
    if token == "nil":
        return None, end
    if token == "t":
        return True, end
    if token.startswith(":"):
        return Keyword(token[1:]), end
    return int(token), end


def plist(elements):
    return {str(key): value for key, value in zip(elements[::2], elements[1::2])}


def become_the_worker(control):
    """In the child, before exec: fd 3 is the control socket, and no test leaves a process behind."""
    os.dup2(control, 3)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Worker:
    """One worker process. Its output is drained while we wait for its answers, as the server does."""

    def __init__(self, directory=None, environment=None, options=()):
        ours, theirs = socket.socketpair()
        changed = dict(os.environ, **(environment or {}))
        self.process = subprocess.Popen(
            [IMAGE, *OPTIONS, *options, "--end-runtime-options"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=directory, env={name: value for name, value in changed.items() if value is not None},
            start_new_session=True, close_fds=False,
            preexec_fn=lambda: become_the_worker(theirs.fileno()))
        theirs.close()
        self.next_id = 0
        self.received = b""
        self.output = {"stdout": b"", "stderr": b""}
        self.socket = ours
        self.selector = selectors.DefaultSelector()
        for source, name in ((ours, "socket"), (self.process.stdout, "stdout"),
                             (self.process.stderr, "stderr")):
            os.set_blocking(source.fileno(), False)
            self.selector.register(source, selectors.EVENT_READ, name)
        self.ready = self.receive()

    def _pump(self, wait):
        """Take in what there is, waiting for something if asked to. False when there is nothing."""
        events = self.selector.select(PATIENCE if wait else 0)
        if wait and not events:
            raise AssertionError("the worker does not answer")
        for key, _ in events:
            try:
                chunk = os.read(key.fd, 1 << 20)
            except ConnectionResetError:  # it left without reading all we sent
                chunk = b""
            if not chunk:
                self.selector.unregister(key.fileobj)
            elif key.data == "socket":
                self.received += chunk
            else:
                self.output[key.data] += chunk
            if not chunk and key.data == "socket":
                raise Died()
        return bool(events)

    def _exactly(self, count):
        while len(self.received) < count:
            self._pump(wait=True)
        data, self.received = self.received[:count], self.received[count:]
        return data

    def receive(self):
        size = int(self._exactly(8), 16)
        form, _ = read_form(self._exactly(size).decode("utf-8"))
        return {"message": str(form[0]), **plist(form[1:])}

    def send_bytes(self, data):
        self.socket.setblocking(True)
        self.socket.sendall(data)
        self.socket.setblocking(False)

    def send_text(self, text):
        payload = text.encode("utf-8", "surrogatepass")
        self.send_bytes(b"%08x" % len(payload) + payload)

    def start(self, operation, **arguments):
        self.next_id += 1
        form = [Keyword(operation), Keyword("id"), self.next_id]
        for name, value in arguments.items():
            form += [Keyword(name), value]
        self.send_text(write_form(form))

    def finish(self):
        """The answer; the backtraces that came before it, of a request that was interrupted, are in self.interrupting."""
        self.interrupting = []
        while (done := self.receive())["message"] == "interrupting":
            self.interrupting.append(done["backtrace"])
        if "condition" in done:
            done["condition"] = plist(done["condition"])
        return done

    def call(self, operation, **arguments):
        self.start(operation, **arguments)
        return self.finish()

    def eval(self, code, package=None):
        return self.call("evaluate", code=code, package=package)

    def wait_for_output(self, text, name="stdout"):
        while text not in self.output[name].decode("utf-8", "replace"):
            self._pump(wait=True)

    def take_output(self, name="stdout"):
        """What was written so far; what came before `:done` is in the pipe by now."""
        try:
            while self._pump(wait=False):
                pass
        except Died:
            pass
        data, self.output[name] = self.output[name], b""
        return data.decode("utf-8")

    def interrupt(self):
        os.kill(self.process.pid, signal.SIGINT)

    def interrupt_request(self, number):
        """SIGINT that carries the id of the request it is meant for."""
        ctypes.CDLL(None).sigqueue(self.process.pid, signal.SIGINT, ctypes.c_void_p(number))

    def death(self):
        """The exit status of a worker that is about to end."""
        try:
            while True:
                self._pump(wait=True)
        except Died:
            return self.process.wait(PATIENCE)

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.selector.close()
        self.socket.close()
        self.process.stdout.close()
        self.process.stderr.close()
