"""What the tests of hostile peers have in common: connections without manners, and a bound on memory."""

import contextlib
import http.client
import json
import pathlib
import re
import socket
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from harness import E2eTest, free_port  # noqa: E402

MIB = 1024 * 1024
RISE_MAX = 64 * MIB


def status_of_process(pid, field):
    """In bytes."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(rf"^{field}:\s*(\d+) kB", status, re.MULTILINE).group(1)) * 1024


class HostileTest(E2eTest):
    @contextlib.contextmanager
    def bounded_memory(self, pid):
        """The most memory that a process has meanwhile is at most 64 MiB more than now."""
        pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
        before = status_of_process(pid, "VmRSS")
        yield
        self.assertLess(status_of_process(pid, "VmHWM") - before, RISE_MAX)

    def connect(self, port):
        peer = socket.create_connection(("127.0.0.1", port), timeout=harness.PATIENCE)
        self.addCleanup(peer.close)
        return peer

    def pour(self, port, begin, piece, most=200 * MIB):
        """Sends without end, until the other side has closed the connection."""
        peer = self.connect(port)
        sent = len(begin)
        try:
            peer.sendall(begin)
            while sent < most:
                peer.sendall(piece)
                sent += len(piece)
        except OSError:
            pass
        self.assertLess(sent, most, "it was not closed")

    def answers_to(self, port, bytes_):
        """All that is said to them, until the other side closes the connection or says no more."""
        peer = self.connect(port)
        heard = b""
        with contextlib.suppress(OSError):
            peer.sendall(bytes_)
            peer.shutdown(socket.SHUT_WR)
            while part := peer.recv(65536):
                heard += part
        return heard

    def in_parallel(self, count, work):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(harness.PATIENCE)


class TrackerTest(HostileTest):
    """With a job tracker that has an HTTP port."""

    def start(self, *flags):
        self.port = free_port()
        self.one = self.cluster(flags=["--http", f"127.0.0.1:{self.port}", *flags])
        return self.one.tracker.pid

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def status_of(self, path):
        return self.ask("GET", path)[0]

    def metric(self, name):
        text = self.ask("GET", "/metrics")[1].decode()
        return float(re.search(rf"^{name} (\S+)$", text, re.MULTILINE).group(1))

    def register(self, address, app="hostile"):
        return json.loads(self.ask("POST", "/api/registry", json.dumps({
            "registryGroup": "EXECUTOR", "registryKey": app, "registryValue": address}))[1])

    def manage(self, verb, body, **headers):
        return json.loads(self.ask("POST", f"/api/{verb}", json.dumps(body), headers)[1])
