"""A private PostgreSQL server: its own cluster in a temporary folder, safe against power failure."""

import os
import secrets
import shutil
import socket
import subprocess

from program import Server, run

USER = "bench"
OTHER_USER = "nobody"
# Room for 200 000 jobs, as MariaDB has it in carillon-bench; all else as PostgreSQL comes.
SETTINGS = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
            "shared_buffers": "1GB", "max_wal_size": "4GB", "max_connections": "200"}


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Postgres:
    def __init__(self, installation, folder):
        programs = installation.debian / "usr/lib/postgresql/15/bin"
        libraries = installation.libraries
        self.folder = folder / "postgres"
        self.folder.mkdir(mode=0o700)
        password = secrets.token_hex(16)
        password_file = self.folder / "password"
        password_file.write_text(password, "ascii")
        as_user = ["setpriv"]
        if os.geteuid() == 0:
            # The server refuses to run as root.
            shutil.chown(self.folder, OTHER_USER)
            shutil.chown(password_file, OTHER_USER)
            as_user += ["--reuid", OTHER_USER, "--clear-groups"]
        run([*as_user, programs / "initdb", "--pgdata", self.folder / "data", "--username", USER,
             "--auth", "scram-sha-256", "--pwfile", password_file, "--encoding", "UTF8",
             "--no-locale", "--no-sync"], folder / "initdb.log", libraries, folder="/")
        self.port = free_port()
        settings = {**SETTINGS, "listen_addresses": "127.0.0.1", "port": self.port,
                    "unix_socket_directories": self.folder}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self.server = Server([*as_user, "--pdeathsig", "QUIT", programs / "postgres",
                              "-D", self.folder / "data", *words], folder / "postgres.log",
                             libraries)
        self.server.await_ready(lambda: answers(self.port))
        self.environment = {
            "DATABASE_URL": f"postgres://{USER}:{password}@127.0.0.1:{self.port}/postgres"}
        version = subprocess.run([programs / "postgres", "--version"], capture_output=True,
                                 text=True, check=True, env={**os.environ, **libraries})
        self.durability = (f"PostgreSQL {version.stdout.split()[2]}, fsync=on, "
                           "synchronous_commit=on")

    @property
    def process(self):
        return self.server.process.pid

    def close(self):
        self.server.close()
