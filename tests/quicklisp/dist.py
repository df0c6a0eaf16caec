"""A Quicklisp dist of small systems, served from the loopback, and a Quicklisp home that uses it."""

import contextlib
import functools
import hashlib
import http.server
import io
import os
import pathlib
import shutil
import subprocess
import tarfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
BOOTSTRAP = "/usr/share/common-lisp/source/quicklisp/quicklisp.lisp"

# project: (what systems.txt says it depends on, {file: content})
PROJECTS = {
    "ql-greeting": ((), {
        "ql-greeting.asd": '(defsystem "ql-greeting" :version "0.3" :components ((:file "greeting")))',
        "greeting.lisp": '(defpackage #:ql-greeting (:use #:cl) (:export #:greet)) (in-package #:ql-greeting)\n'
                         '(defun greet (name) (format nil "Hello, ~A." name))',
    }),
    "ql-hello": (("ql-greeting",), {
        "ql-hello.asd": '(defsystem "ql-hello" :version "1.2" :depends-on ("ql-greeting") :components ((:file "hello")))',
        "hello.lisp": '(defpackage #:ql-hello (:use #:cl) (:export #:hello)) (in-package #:ql-hello)\n'
                      '(defun hello () (ql-greeting:greet "dist"))',
    }),
    "ql-evaluated": ((), {
        "ql-evaluated.asd": '(defsystem "ql-evaluated" :components ((:file "evaluated")))',
        "evaluated.lisp": "(defpackage #:ql-evaluated (:use #:cl) (:export #:answer)) (in-package #:ql-evaluated)\n"
                          "(defun answer () 42)",
    }),
    # The index does not know this dependency; only the .asd file names it.
    "ql-missing": ((), {
        "ql-missing.asd": '(defsystem "ql-missing" :depends-on ("no-such-lib"))',
    }),
    "ql-broken": ((), {
        "ql-broken.asd": '(defsystem "ql-broken" :components ((:file "bad")))',
        "bad.lisp": "(defun fine () 1)\n(defun unfinished (",
    }),
    "ql-conflict": ((), {
        "ql-conflict.asd": '(defsystem "ql-conflict" :components ((:file "conflict")))',
        "conflict.lisp": "(defpackage #:ql-conflict-a (:export #:same))\n(defpackage #:ql-conflict-b (:export #:same))\n"
                         "(defpackage #:ql-conflict (:use #:ql-conflict-a #:ql-conflict-b))",
    }),
    # A full WARNING: plain ASDF refuses the file, the client's quiet mode loads it and says nothing.
    "ql-warns": ((), {
        "ql-warns.asd": '(defsystem "ql-warns" :components ((:file "warns")))',
        "warns.lisp": "(defpackage #:ql-warns (:use #:cl)) (in-package #:ql-warns)\n(defun wrong () (car 1 2))",
    }),
    "ql-one": ((), {"ql-one.asd": '(defsystem "ql-one" :components ((:file "one")))', "one.lisp": "(defpackage #:ql-one)"}),
    "ql-two": ((), {"ql-two.asd": '(defsystem "ql-two" :components ((:file "two")))', "two.lisp": "(defpackage #:ql-two)"}),
}


def archive(project, files):
    """A release as the dists have it: gzip over ustar, one directory."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in files.items():
            data = content.encode()
            info = tarfile.TarInfo(f"{project}-1/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def write_dist(root, url):
    systems = ["# project system-file system-name [dependency1..dependencyN]"]
    releases = ["# project url size file-md5 content-sha1 prefix [system-file1..system-fileN]"]
    for project, (dependencies, files) in PROJECTS.items():
        data = archive(project, files)
        (root / f"{project}.tgz").write_bytes(data)
        systems.append(" ".join([project, project, project, "asdf", *dependencies]))
        releases.append(f"{project} {url}/{project}.tgz {len(data)} {hashlib.md5(data).hexdigest()} "
                        f"{hashlib.sha1(data).hexdigest()} {project}-1 {project}.asd")
    (root / "systems.txt").write_text("\n".join(systems) + "\n")
    (root / "releases.txt").write_text("\n".join(releases) + "\n")
    (root / "distinfo.txt").write_text(
        f"name: cl-mcp-test\nversion: 2026-01-01\nsystem-index-url: {url}/systems.txt\n"
        f"release-index-url: {url}/releases.txt\narchive-base-url: {url}/\n"
        f"canonical-distinfo-url: {url}/distinfo.txt\ndistinfo-subscription-url: {url}/distinfo.txt\n")


def write_client(root, url):
    """What the bootstrap fetches: a description, the client's archive (nothing in it), and the two files it loads."""
    with tarfile.open(root / "quicklisp.tar", "w", format=tarfile.USTAR_FORMAT):
        pass
    (root / "asdf.lisp").write_text(";; The ASDF of the running Lisp is used.\n")
    shutil.copy(HERE / "client_double.lisp", root / "setup.lisp")
    (root / "client-info.sexp").write_text(
        f'(:version "double" :client-tar (:url "{url}/quicklisp.tar") :setup (:url "{url}/setup.lisp")'
        f' :asdf (:url "{url}/asdf.lisp"))\n')


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path.endswith(".tgz"):
            self.server.watch.archive_begins(self.path)
        super().do_GET()

    def log_message(self, *_):
        pass


class Watch:
    """Sees which archives are fetched, and whether two of them ever at the same time.

    While it is on, an archive is held back until a second one is asked for, or for half a second: two clients that
    do not wait for each other are thus sure to be seen.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._second = threading.Event()
        self._now = 0
        self.is_on = False
        self.most_at_once = 0
        self.archives = []

    def archive_begins(self, path):
        self.archives.append(path)
        if not self.is_on:
            return
        with self._lock:
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            if self._now > 1:
                self._second.set()
        self._second.wait(0.5)
        with self._lock:
            self._now -= 1


@contextlib.contextmanager
def serving(root):
    """Serves `root` on an ephemeral port of the loopback; gives the server, with .url and .watch."""
    handler = functools.partial(Handler, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.url = f"http://127.0.0.1:{server.server_address[1]}"
        server.watch = Watch()
        write_dist(root, server.url)
        write_client(root, server.url)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def sbcl(home, *forms):
    arguments = ["sbcl", "--noinform", "--non-interactive", "--no-sysinit", "--no-userinit"]
    for form in forms:
        arguments += ["--eval", form]
    run = subprocess.run(arguments, env={**os.environ, "HOME": str(home)}, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    if run.returncode != 0:
        raise RuntimeError(f"sbcl failed:\n{run.stdout}")


def install_double(home, url):
    """Debian's real bootstrap installs the double into <home>/quicklisp/."""
    sbcl(home, f'(load "{BOOTSTRAP}")',
         f'(quicklisp-quickstart:install :path "{home}/quicklisp/" :client-url "{url}/client-info.sexp"'
         f' :dist-url "{url}/distinfo.txt")')
    sbcl(home, f'(load "{home}/quicklisp/setup.lisp")')  # compiles what a first start compiles


def install_real(home, url, setup):
    """A copy of the user's client, without its dists, with ours."""
    source = pathlib.Path(setup).resolve().parent
    target = home / "quicklisp"
    shutil.copytree(source, target, ignore=lambda folder, names: (
        {"dists", "local-projects", "tmp", "cache"} & set(names) if pathlib.Path(folder) == source else set()))
    for name in ("dists", "local-projects", "tmp"):
        (target / name).mkdir()
    sbcl(home, f'(load "{target}/setup.lisp")', f'(ql-dist:install-dist "{url}/distinfo.txt" :prompt nil)')
