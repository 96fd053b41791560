"""A private Galera cluster of three nodes, on free ports of loopback.

Data folders are copies of one, so that no node ever needs a full copy of the data from another: a
node that joins gets what it missed from the write-set cache of another (wsrep_sst_increment).
"""

import pathlib
import re
import shutil
import subprocess

import harness
from harness import Mariadb, wait_for

PROVIDER = pathlib.Path("/usr/lib/galera/libgalera_smm.so")


class Node(Mariadb):
    """`first`: the node whose data this one begins with; none: it makes them."""

    def __init__(self, galera, number, first=None):
        self.galera = galera
        self.number = number
        self.wsrep_port, self.ist_port = harness.free_port(), harness.free_port()
        self.position = None  # None: as its data say
        self.bootstraps = self.is_alone = first is None
        if first is None:
            super().__init__(galera.folder / f"node-{number}")
            self.stop()
            self.is_alone = False
            return
        self.folder, self.flags = galera.folder / f"node-{number}", ()
        shutil.copytree(first.folder / "data", self.folder / "data")
        (self.folder / "tmp").mkdir()
        self.port, self.server = 0, None
        self._env = {**first._env, "TMPDIR": str(self.folder / "tmp")}

    def _argv(self):
        argv = super()._argv()
        if self.is_alone:
            return argv
        members = ",".join(f"127.0.0.1:{node.wsrep_port}" for node in self.galera.nodes)
        options = {"gmcast.listen_addr": f"tcp://127.0.0.1:{self.wsrep_port}",
                   "ist.recv_addr": f"127.0.0.1:{self.ist_port}", "gcache.size": "64M",
                   **self.galera.provider_options}
        argv = [word for word in argv if not word.startswith("--init-file")]
        return [*argv, "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--wsrep-on=ON",
                f"--wsrep-provider={PROVIDER}", f"--wsrep-cluster-address=gcomm://{members}",
                f"--wsrep-node-name=node-{self.number}", "--wsrep-slave-threads=4",
                f"--wsrep-node-address=127.0.0.1:{self.wsrep_port}",
                "--wsrep-sst-method=increment",
                "--wsrep-provider-options=" + ";".join(f"{k}={v}" for k, v in options.items()),
                *([f"--wsrep-start-position={self.position}"] if self.position else []),
                *(["--wsrep-new-cluster"] if self.bootstraps else [])]

    def start(self):
        if self.is_alone:
            super().start()
            return
        self.port = self.port or harness.free_port()
        self._launch()
        wait_for("the node to be synced", lambda: self.is_synced() or not self.server.is_running(),
                 pause=0.2)
        if not self.server.is_running():
            raise AssertionError("the node did not start:\n" + self.server.log()[-harness.LOG_TAIL:])

    def stop(self):
        assert self.server.stop() == 0, self.server.log()

    def rejoin(self):
        """After a kill: from where its data are."""
        done = subprocess.run([*self._argv(), "--wsrep-recover"], env=self._env, capture_output=True,
                              text=True, timeout=harness.PATIENCE)
        self.position = re.search(r"Recovered position: (\S+)", done.stderr).group(1)
        self.start()

    def status(self, name):
        """None: it does not answer that."""
        try:
            done = subprocess.run([*self.client_argv("mysql"), "--connect-timeout=1",
                                   f"-eSHOW STATUS LIKE '{name}'"],
                                  capture_output=True, text=True, timeout=3)
        except subprocess.TimeoutExpired:
            return None
        return done.stdout.rstrip("\n").partition("\t")[2] if done.returncode == 0 else None

    def is_synced(self):
        return (self.status("wsrep_local_state_comment") == "Synced"
                and self.status("wsrep_cluster_status") == "Primary")


class Galera:
    """Stands for a Mariadb: a harness.Cluster may be made with it."""

    SIZE = 3

    def __init__(self, folder, provider_options=()):
        self.folder = pathlib.Path(folder)
        self.provider_options = dict(provider_options)
        self._databases = 0
        first = Node(self, 0)
        first._env["PATH"] = f"{harness.SOURCE / 'tests/e2e'}:{first._env['PATH']}"
        self.nodes = [first]
        # So that its data know of the cluster.
        first.start()
        first.run("CREATE DATABASE of_the_cluster", "mysql")
        first.stop()
        self.nodes += [Node(self, number, first) for number in range(1, self.SIZE)]
        first.start()
        first.bootstraps = False
        for node in self.nodes[1:]:
            node.start()
        self.wait_synced()

    @staticmethod
    def is_installed():
        return Mariadb.is_installed() and PROVIDER.exists()

    def wait_synced(self):
        """All nodes are members, and have what the others have."""
        wait_for("the nodes to be synced", lambda: all(
            node.is_synced() and node.status("wsrep_cluster_size") == str(self.SIZE)
            for node in self.nodes), pause=0.2)

    def new_database(self):
        self._databases += 1
        name = f"carillon_{self._databases}"
        self.run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4", "mysql")
        return name

    def url(self, database, first=None):
        """All nodes, beginning with that one, or the first."""
        nodes = [self.nodes[((first or 0) + number) % self.SIZE] for number in range(self.SIZE)]
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
        alone = nodes[0].url(database)
        return alone.replace(f"127.0.0.1:{nodes[0].port}", hosts)

    def run(self, statement, database):
        """At a node that has what the others have committed."""
        node = next(node for node in self.nodes if node.is_synced())
        return node.run("SET SESSION wsrep_sync_wait = 1; " + statement, database)

    def close(self):
        for node in self.nodes:
            node.close()
