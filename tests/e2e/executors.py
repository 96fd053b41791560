"""xxl-job executors that others wrote, as programs. What they are stands in tests/executors.

Each kind is fetched from its registry and built the first time that it is needed, into
build/executors, and again when its files change. Without its tools, or its registry, what needs it
is skipped; in CI (CARILLON_CI=1) it fails.
"""

import fcntl
import functools
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

from harness import SOURCE, Program, accepts, free_port, skip

BUILT = SOURCE / "build/executors"
SOURCES = SOURCE / "tests/executors"
INSTALL_PATIENCE = 600  # seconds, of each command


class Kind:
    """One library in one version. `dialect`: of xxl-job's protocol, A to D."""

    path = ""  # of the address that it registers

    def __init__(self, name, dialect, tools, sources):
        self.name = name
        self.dialect = dialect
        self.tools = tools
        self.sources = [SOURCES / each for each in sources]
        self.folder = BUILT / name

    def install(self):
        """Builds it unless it is built. Requires: no other process does (see start())."""
        stamp = self.folder / "stamp"
        wanted = self._fingerprint()
        if stamp.exists() and stamp.read_text() == wanted:
            return
        for tool in self.tools:
            if not shutil.which(tool):
                skip(f"{tool} is not installed, and executor {self.name} needs it (packaging/packages)")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for argv, cwd in self.steps():
            done = subprocess.run(list(map(str, argv)), cwd=cwd, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=INSTALL_PATIENCE)
            if done.returncode != 0:
                skip(f"executor {self.name} cannot be built: {' '.join(map(str, argv))}: "
                     f"{(done.stdout + done.stderr)[-3000:]}")
        stamp.write_text(wanted)

    def start(self, folder, admin_url, app, token, port=None):
        """A Program whose `address` is what it registers, without a slash at its end. `port` gives a
        program that is started again the address of before."""
        BUILT.mkdir(parents=True, exist_ok=True)
        with open(BUILT / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed
            self.install()
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        port = port or free_port()
        # pyxxl takes variables named like its settings, so the environment is a bare one.
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "TZ": "UTC"}
        program = Program([*self.argv(), admin_url, app, port, token, folder / "logs"],
                          folder / f"{self.name}-{port}.log", env, self.name)
        program.port = port
        program.listens = functools.partial(accepts, port)
        program.address = f"http://127.0.0.1:{port}{self.path}"
        return program

    def _fingerprint(self):
        digest = hashlib.sha256(repr((self.steps(), sys.version)).encode())
        for source in self.sources:
            digest.update(source.read_bytes())
        return digest.hexdigest()


class Java(Kind):
    def __init__(self, version, dialect, main):
        self.version = version
        super().__init__(f"java-{version}", dialect, ["mvn", "javac", "java"],
                         ["java/pom.xml", "java/Handlers.java", f"java/{main}/Executor.java"])

    def steps(self):
        pom, *code = self.sources
        return [
            (["mvn", "-B", "-q", "-f", pom, f"-Dxxl-job.version={self.version}",
              "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies",
              f"-DoutputDirectory={self.folder}/lib"], self.folder),
            (["javac", "-proc:none", "-cp", f"{self.folder}/lib/*", "-d", self.folder / "classes",
              *code], self.folder)]

    def argv(self):
        # Small, and up in half a second.
        return ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
                "-cp", f"{self.folder}/classes:{self.folder}/lib/*", "Executor"]


class Go(Kind):
    def __init__(self):
        super().__init__("go", "B", ["go"], ["go/go.mod", "go/go.sum", "go/main.go"])

    def steps(self):
        return [(["go", "build", "-o", self.folder / "executor", "."], SOURCES / "go")]

    def argv(self):
        return [self.folder / "executor"]


class Pyxxl(Kind):
    def __init__(self):
        super().__init__("pyxxl", "B", [], ["python/requirements.txt", "python/executor.py"])

    def steps(self):
        return [([sys.executable, "-m", "venv", self.folder / "venv"], self.folder),
                ([self.folder / "venv/bin/pip", "install", "-q", "-r", self.sources[0]], self.folder)]

    def argv(self):
        return [self.folder / "venv/bin/python", "-W", "ignore", self.sources[1]]


class Node(Kind):
    path = "/job"

    def __init__(self):
        super().__init__("node", "B", ["npm", "node"], ["node/package.json", "node/executor.mjs"])

    def steps(self):
        return [(["cp", *self.sources, self.folder], self.folder),
                (["npm", "install", "--no-audit", "--no-fund", "--silent"], self.folder)]

    def argv(self):
        return ["node", self.folder / "executor.mjs"]


JAVA_2_2_0 = Java("2.2.0", "A", "v2_2")
JAVA_2_4_1 = Java("2.4.1", "B", "annotated")
JAVA_3_3_2 = Java("3.3.2", "C", "annotated")
GO = Go()
PYXXL = Pyxxl()
NODE = Node()
ALL = [JAVA_2_2_0, JAVA_2_4_1, JAVA_3_3_2, GO, PYXXL, NODE]
