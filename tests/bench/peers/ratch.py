"""ratch-job, a scheduler for xxl-job's executors: started, filled with jobs, measured, ended."""

import concurrent.futures
import http.client
import json
import socket

from program import PeerError, Server

APP = "bench"
CALLERS = 4  # who make jobs at the same time
ADMIN = "/xxl-job-admin"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Ratch:
    """One node of it with its defaults, logging errors only, in a folder of its own."""

    name, version = "ratchjob", "0.3.1"
    durability = "a write that a power cut takes back: its log is never synced to the disk"

    def __init__(self, argv, folder):
        self.port, console, cluster = free_port(), free_port(), free_port()
        self.server = Server(argv, folder / "ratch.log", {
            "RATCH_HTTP_API_PORT": str(self.port), "RATCH_HTTP_CONSOLE_PORT": str(console),
            "RATCH_GRPC_CLUSTER_PORT": str(cluster),
            "RATCH_RAFT_NODE_ADDR": f"127.0.0.1:{cluster}", "RATCH_DATA_DIR": str(folder / "data"),
            "RATCH_XXL_DEFAULT_ACCESS_TOKEN": "", "RUST_LOG": "error"})
        self.server.await_ready(self._answers)

    @property
    def admin(self):
        return f"http://127.0.0.1:{self.port}{ADMIN}"

    def _answers(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def add_jobs(self, jobs):
        """Every one fires each second."""
        with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
            for done in [pool.submit(self._add, range(caller, jobs, CALLERS))
                         for caller in range(CALLERS)]:
                done.result()

    def _add(self, numbers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        for number in numbers:
            job = {"namespace": "xxl", "appName": APP, "key": f"job-{number}", "enable": True,
                   "scheduleType": "CRON", "cronValue": "* * * * * *", "runMode": "BEAN",
                   "handleName": "noop", "routerStrategy": "ROUND_ROBIN",
                   "blockingStrategy": "SERIAL_EXECUTION"}
            connection.request("POST", "/ratch/v1/job/create", json.dumps(job),
                               {"Content-Type": "application/json"})
            answer = connection.getresponse().read()
            if json.loads(answer).get("code") != 200:
                raise PeerError(f"ratch-job refused a job: {answer.decode('utf-8', 'replace')}")
        connection.close()

    @property
    def process(self):
        return self.server.process.pid

    def close(self):
        self.server.close()
