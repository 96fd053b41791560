"""Real programs for the tests: started on free ports below a temp folder, ended by their number.

A Cluster is one store with one job tracker and any number of task trackers. It belongs to the
thread that made it. Whatever a test leaves running is killed when the test ends, and also when the
test itself is killed (setpriv --pdeathsig). When a test fails, the logs of its programs are printed.

Nothing here waits a fixed time for something to have happened: wait_for() polls a condition, with a
deadline that is generous even on a busy machine.
"""

import atexit
import contextlib
import fcntl
import functools
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("CARILLON_BIN_DIR", SOURCE / "build/release/bin")).resolve()
IN_CI = os.environ.get("CARILLON_CI") == "1"

PATIENCE = 60.0  # seconds that anything may take on a machine that is busy with other things
STATEMENT_PATIENCE = 300.0  # of SQL, which may write a million rows
LOG_TAIL = 6000  # bytes of each log that a failed test prints


def wait_for(what, condition, patience=PATIENCE, pause=0.05):
    """The first true value of condition(); AssertionError naming `what` when patience ends."""
    end = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {patience:.0f} s in vain for {what}")
        time.sleep(pause)


def skip(why):
    """What a test needs is missing: it is skipped, but in CI (CARILLON_CI=1) it fails."""
    raise AssertionError(why) if IN_CI else unittest.SkipTest(why)


def waited_for_cores():
    """Seconds in which something has waited for a core, of all; None where the kernel does not say."""
    try:
        some = pathlib.Path("/proc/pressure/cpu").read_text().splitlines()[0]
    except OSError:
        return None
    return int(some.rpartition("total=")[2]) / 1e6


slowness_asked = time.monotonic(), waited_for_cores()


def slowness():
    """By how much slower than with idle cores this machine may have run since the call before: 1 and
    the part of that time in which something waited for a core."""
    global slowness_asked
    then, waited_then = slowness_asked
    now, waited = slowness_asked = time.monotonic(), waited_for_cores()
    if waited is None:
        return min(2.0, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))
    return 1 + min(1.0, (waited - waited_then) / max(now - then, 0.001))


def accepts(port):
    """Whether somebody listens there."""
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def make_certificate(path):
    """One for 127.0.0.1 that has signed itself, with its key in the same file."""
    path = str(path)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-days", "2", "-subj", "/CN=test", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", path + ".key", "-out", path],
                   check=True, capture_output=True)
    with open(path, "a", encoding="ascii") as both, open(path + ".key", encoding="ascii") as key:
        both.write(key.read())


PORTS_OF_A_PROCESS = 100


@functools.cache
def own_ports():
    """Ports that no outgoing connection is given, nor another process of the tests: a program that
    is started again finds its own free."""
    first_given = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    folder = pathlib.Path("/tmp", f"carillon-ports-{os.getuid()}")
    folder.mkdir(exist_ok=True)
    begins = list(range(10_000, max(first_given, 15_000) - PORTS_OF_A_PROCESS, PORTS_OF_A_PROCESS))
    random.shuffle(begins)
    for begin in begins:
        lock = open(folder / str(begin), "w", encoding="ascii")
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock, itertools.cycle(range(begin, begin + PORTS_OF_A_PROCESS))
        lock.close()
    raise AssertionError(f"all ports are other tests', see {folder}")


def free_port():
    _, ports = own_ports()
    for port in itertools.islice(ports, PORTS_OF_A_PROCESS):
        with socket.socket() as taken, contextlib.suppress(OSError):
            taken.bind(("127.0.0.1", port))
            return port
    raise AssertionError("all ports of this process are taken")


def exit_status(code):
    """A readable exit status: 0, 2, 'SIGKILL' ..."""
    return signal.Signals(-code).name if code is not None and code < 0 else code


class Program:
    """One running program. Its stdout is read line by line, its stderr goes to a file."""

    def __init__(self, argv, log, env, name, prefix=()):
        self.name = name
        self.log_path = pathlib.Path(log)
        self._lines = []
        self._changed = threading.Condition()
        with open(self.log_path, "ab") as errors:
            self._log_from = errors.tell()
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *prefix, *map(str, argv)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=env,
                cwd=self.log_path.parent, start_new_session=True)
        self.pid = self.process.pid
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        with self.process.stdout as output:
            for raw in output:
                with self._changed:
                    self._lines.append(raw.decode("utf-8", "replace").rstrip("\n"))
                    self._changed.notify_all()
        with self._changed:
            self._lines.append(None)
            self._changed.notify_all()

    def lines(self):
        with self._changed:
            return [line for line in self._lines if line is not None]

    def ready(self, patience=PATIENCE):
        """The keys of the ready line; AssertionError with the log if it ends before."""
        start = f"{self.name}: ready "
        with self._changed:
            def found():
                return next((line for line in self._lines
                             if line is None or line.startswith(start)), "")
            self._changed.wait_for(lambda: found() != "", patience)
            line = found()
        if not line:
            raise AssertionError(f"{self.name} said nothing of being ready:\n{self.log()}")
        return dict(word.split("=", 1) for word in line[len(start):].split(" "))

    def log(self):
        return self.log_path.read_text("utf-8", "replace")

    def own_log(self):
        """Without what others wrote to it before this one was started."""
        return self.log_path.read_bytes()[self._log_from:].decode("utf-8", "replace")

    def takes_signals(self):
        """It has begun, and blocks SIGTERM to read it in its own time."""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        blocked = int(re.search(r"^SigBlk:\s*([0-9a-f]+)", status, re.MULTILINE).group(1), 16)
        return bool(blocked >> (signal.SIGTERM - 1) & 1)

    def is_running(self):
        return self.process.poll() is None

    def send(self, number):
        if self.is_running():
            self.process.send_signal(number)

    def kill(self):
        """kill -9, and gone when this returns. When it was sent, by time.monotonic()."""
        at = time.monotonic()
        self.send(signal.SIGKILL)
        self.process.wait(PATIENCE)
        return at

    def stop(self, number=signal.SIGTERM, patience=PATIENCE):
        self.send(number)
        return self.wait(patience)

    def wait(self, patience=PATIENCE):
        try:
            return exit_status(self.process.wait(patience))
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end in {patience:.0f} s") from None


class Mariadb:
    """A private MariaDB server. One for a test file is enough: each cluster has its own database."""

    USER, PASSWORD = "carillon", "p@ss:w/rd"

    def __init__(self, folder, flags=()):
        """`flags`: more of mariadbd."""
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.flags = flags
        self.port = 0
        self.server = None
        self._databases = 0
        # Its own: a server that starts removes temporary tables from it, also those of others.
        (self.folder / "tmp").mkdir()
        self._env = {"PATH": os.environ["PATH"] + ":/usr/sbin", "TMPDIR": str(self.folder / "tmp")}
        install = ["mariadb-install-db", "--no-defaults", f"--datadir={self.folder}/data",
                   "--auth-root-authentication-method=normal", "--skip-test-db"]
        if os.geteuid() == 0:
            install.append("--user=root")
        done = subprocess.run(install, capture_output=True, text=True, env=self._env)
        if done.returncode != 0:
            raise AssertionError(f"mariadb-install-db failed: {done.stdout}{done.stderr}")
        (self.folder / "init.sql").write_text(
            f"CREATE USER IF NOT EXISTS '{self.USER}'@'%' IDENTIFIED BY '{self.PASSWORD}';\n"
            f"GRANT ALL PRIVILEGES ON *.* TO '{self.USER}'@'%' WITH GRANT OPTION;\n")
        self.start()

    @staticmethod
    def is_installed():
        return all(shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")
                   for name in ("mariadbd", "mariadb-install-db", "mariadb"))

    def start(self):
        """On the port of before, so that a restart is one for those who were connected."""
        for _ in range(3):
            self.port = self.port or free_port()
            self._launch()
            with contextlib.suppress(AssertionError):
                wait_for("mariadbd to greet", self._greets_or_ended)
            if self.server.is_running() and self._greets():
                return
            self.server.kill()
        raise AssertionError("mariadbd did not start:\n" + self.server.log()[-LOG_TAIL:])

    def _argv(self):
        folder = self.folder
        argv = ["mariadbd", "--no-defaults", f"--datadir={folder}/data",
                f"--socket={folder}/socket", f"--port={self.port}", "--bind-address=127.0.0.1",
                f"--pid-file={folder}/pid", f"--init-file={folder}/init.sql",
                "--skip-name-resolve", "--character-set-server=utf8mb4",
                # A killed server loses nothing by it, only a power failure.
                "--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=128M", *self.flags]
        if os.geteuid() == 0:
            argv.append("--user=root")
        argv[0] = shutil.which("mariadbd", path=self._env["PATH"])
        return argv

    def _launch(self):
        self.server = Program(self._argv(), self.folder / "server.log", self._env, "mariadbd")

    def _greets(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.settimeout(1)
                return connection.recv(1) != b""
        except OSError:
            return False

    def _greets_or_ended(self):
        return not self.server.is_running() or self._greets()

    def new_database(self):
        self._databases += 1
        name = f"carillon_{self._databases}"
        self.run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4", "mysql")
        return name

    def url(self, database, port=None, password=None):
        quoted = urllib.parse.quote(password or self.PASSWORD, safe="")
        return f"mysql://{self.USER}:{quoted}@127.0.0.1:{port or self.port}/{database}"

    def client_argv(self, database):
        return ["mariadb", "--no-defaults", "--protocol=tcp", "-h127.0.0.1", f"-P{self.port}",
                f"-u{self.USER}", f"-p{self.PASSWORD}", "--batch", "--skip-column-names", database]

    def run(self, statement, database):
        """The rows of a statement, as lists of texts (None for NULL)."""
        done = subprocess.run(self.client_argv(database), input=statement, capture_output=True, text=True,
                              timeout=STATEMENT_PATIENCE)
        if done.returncode != 0:
            raise AssertionError(f"{statement}: {done.stderr}")
        return [[None if value == "NULL" else value for value in line.split("\t")]
                for line in done.stdout.splitlines()]

    def close(self):
        if self.server:
            self.server.send(signal.SIGCONT)
            self.server.kill()


class Answer:
    """What jobclient printed, and its exit status."""

    def __init__(self, done, argv):
        self.status = done.returncode
        self.out = done.stdout
        self.err = done.stderr
        self.argv = argv

    def json(self):
        return json.loads(self.out)

    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]

    def __repr__(self):
        return (f"{' '.join(map(str, self.argv))}: status {self.status}\n"
                f"stdout: {self.out[-2000:]}\nstderr: {self.err[-2000:]}")


class Cluster:
    """A store, its job tracker, its task trackers, and the user who types jobclient.

    `store` is "sqlite" or a Mariadb. Flags of the tracker are kept over restarts.
    """

    def __init__(self, folder, store="sqlite", flags=(), database_port=None):
        self.folder = pathlib.Path(folder)
        self.mariadb = None if store == "sqlite" else store
        self.database = None
        self.flags = list(map(str, flags))
        self.port = free_port()
        self.tracker = None
        self.workers = []
        self.lives = 0  # of workers so far
        self.data = self.folder / "data"
        for name in ("run", "home", "logs"):
            (self.folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.mariadb:
            self.database = self.mariadb.new_database()
            self.store_url = self.mariadb.url(self.database, database_port)
        else:
            self.store_url = f"sqlite:{self.data}/carillon.db"
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "XDG_RUNTIME_DIR": str(self.folder / "run"),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
        }
        # Sanitizer builds are told what to do by these.
        self.env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})

    # ---- programs

    def start_tracker(self, *flags, wait=True):
        where = [] if not self.mariadb else ["--store", self.store_url]
        self.tracker = Program(
            [BIN / "jobtracker", "--data", self.data, *where,
             "--listen", f"tcp://127.0.0.1:{self.port}", *self.flags, *flags],
            self.folder / "logs" / "jobtracker.log", {**self.env, "CARILLON_HTTP": "off"},
            "jobtracker")
        if wait:
            ready = self.tracker.ready()
            self.port = int(ready["listen"].rsplit(":", 1)[1])
        return self.tracker

    def start_worker(self, *flags, name=None, threads=2, env=None, wait=True, data=None):
        """Each life has a name of its own unless one is given, so that runs tell lives apart; and a
        data folder of its own, unless they share one."""
        self.lives += 1
        name = name or f"worker-{self.lives}"
        worker = Program(
            [BIN / "tasktracker", "--tracker", f"tcp://127.0.0.1:{self.port}", "--name", name,
             "--threads", threads, "--data", data or self.folder / "data" / name, *flags],
            self.folder / "logs" / f"{name}.log", {**self.env, **(env or {})}, "tasktracker")
        worker.node = name
        self.workers.append(worker)
        if wait:
            worker.ready()
        return worker

    def start_minimal_executor(self, admin, app, token, port=None, answer_ms=0):
        """An xxl-job executor that writes its calls into `notes`. With a port: at the address of one
        that was killed."""
        port = port or free_port()
        notes = self.folder / f"notes-{port}"
        executor = Program(
            [sys.executable, SOURCE / "tests/e2e/minimal_executor.py", f"http://{admin}", app, port,
             token, notes, answer_ms],
            self.folder / "logs" / f"executor-{port}.log", self.env, "executor")
        executor.port, executor.notes = port, notes
        self.workers.append(executor)
        executor.address = executor.ready()["xxl"]
        return executor

    def close(self):
        for program in [*self.workers, self.tracker]:
            if program:
                program.send(signal.SIGCONT)
                program.kill()

    # ---- the user

    def client_env(self):
        return {**self.env, "CARILLON_TRACKER": f"tcp://127.0.0.1:{self.port}"}

    def client(self, *args, stdin=None, status=0, patience=PATIENCE, env=None):
        """Runs jobclient. `status` None: any exit status will do."""
        argv = [str(BIN / "jobclient"), *map(str, args)]
        done = subprocess.run(argv, input="" if stdin is None else stdin, capture_output=True,
                              text=True, errors="replace", timeout=patience,
                              env={**self.client_env(), **(env or {})}, cwd=self.folder)
        answer = Answer(done, ["jobclient", *args])
        if status is not None and answer.status != status:
            raise AssertionError(f"expected status {status}: {answer!r}")
        return answer

    def rows(self, *args):
        return self.client("-o", "jsonl", *args).lines()

    def submit(self, *args, **kwargs):
        return self.client("-o", "json", "submit", *args, **kwargs)

    def submit_all(self, jobs, status=0, **kwargs):
        """Many jobs at once, one dict each. The answers, in order."""
        text = "".join(json.dumps(job) + "\n" for job in jobs)
        return self.client("-o", "jsonl", "submit", "--stdin", stdin=text, status=status,
                           **kwargs).lines()

    def history(self, task_id=None, *more):
        which = [] if task_id is None else ["--task-id", task_id]
        return self.rows("history", "--limit", 0, *which, *more)

    def wait_ended(self, task_id, states=None, patience=PATIENCE):
        """The first history row of a task, or the first with one of the states."""
        def found():
            rows = [row for row in self.history(task_id)
                    if states is None or row["state"] in states]
            return rows[-1] if rows else None
        return wait_for(f"an end of {task_id}", found, patience)

    def stats(self):
        return self.client("-o", "json", "stats").json()

    def is_idle(self):
        return not self.rows("waiting") and not self.rows("executing")

    # ---- the store, beside the tracker

    def sql(self, query):
        if self.mariadb:
            return self.mariadb.run(query, self.database)
        path = self.data / "carillon.db"
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as db:
            return [list(row) for row in db.execute(query)]

    def write(self, statement):
        """Changes the store. Requires: no tracker runs."""
        if self.mariadb:
            self.mariadb.run("SET SESSION max_recursive_iterations = 4294967295; " + statement, self.database)
            return
        with contextlib.closing(sqlite3.connect(self.data / "carillon.db")) as db:
            db.execute(statement)
            db.commit()

    def number(self, query):
        value = self.sql(query)[0][0]
        return None if value is None else int(value)

    def jobs(self):
        """What its job tracker has under way, for people; nothing, where it does not answer."""
        if self.tracker and self.tracker.is_running():
            for what in ("executing", "waiting", "nodes"):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    answer = self.client(what, status=None, patience=10)
                    yield what, (answer.out + answer.err)[-LOG_TAIL:]

    def logs(self):
        for path in sorted((self.folder / "logs").glob("*.log")):
            text = path.read_text("utf-8", "replace")
            yield path.name, text[-LOG_TAIL:]


class E2eTest(unittest.TestCase):
    """A test with clusters of its own, which are stopped after it and shown when it fails."""

    uses_mariadb = False
    mariadb = None

    @classmethod
    def setUpClass(cls):
        if cls.uses_mariadb:
            cls.start_mariadb()

    @staticmethod
    def start_mariadb():
        """One for all tests of a file; it ends with the file."""
        if E2eTest.mariadb:
            return
        if not Mariadb.is_installed():
            skip("mariadbd is not installed (apt-get install mariadb-server-core)")
        folder = tempfile.TemporaryDirectory(prefix="carillon-e2e-")
        atexit.register(folder.cleanup)
        E2eTest.mariadb = Mariadb(pathlib.Path(folder.name) / "mariadb")
        atexit.register(E2eTest.mariadb.close)

    def setUp(self):
        slowness()  # What it says from now on is of this test.
        self.clusters = []
        # A folder that only its user can enter, as a home is.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="carillon-e2e-"))
        self.addCleanup(self._clean_up)

    def cluster(self, store="sqlite", flags=(), tracker=True, workers=0, database_port=None):
        cluster = Cluster(self.folder / f"cluster-{len(self.clusters) + 1}", store, flags,
                          database_port)
        self.clusters.append(cluster)
        if tracker:
            cluster.start_tracker()
        for _ in range(workers):
            cluster.start_worker()
        return cluster

    def _clean_up(self):
        result = self._outcome.result
        has_failed = any(test is self or getattr(test, "test_case", None) is self
                         for test, _ in result.failures + result.errors)
        shown = []
        for cluster in self.clusters:
            if has_failed:
                shown += [(cluster, *one) for one in cluster.jobs()]
            cluster.close()
            if has_failed:
                shown += [(cluster, *one) for one in cluster.logs()]
        for cluster, name, text in shown:
            print(f"---- {cluster.folder.name}/{name}\n{text}", file=sys.stderr)
        if os.environ.get("CARILLON_E2E_KEEP") == "1":
            print(f"kept: {self.folder}", file=sys.stderr)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


class BothStores:
    """Runs the tests of a class on SQLite and on MariaDB: derive twice, set `store_name`."""

    store_name = "sqlite"

    @classmethod
    def setUpClass(cls):
        cls.uses_mariadb = cls.store_name == "mariadb"
        super().setUpClass()

    @property
    def store(self):
        return self.mariadb if self.store_name == "mariadb" else "sqlite"


def main():
    done = unittest.main(verbosity=2, exit=False).result
    if done.testsRun == 0:
        sys.exit("no test has such a name")
    sys.exit(not done.wasSuccessful())
