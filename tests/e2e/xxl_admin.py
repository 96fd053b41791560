"""An xxl-job admin, as far as an executor sees one: takes registrations and results, and calls.

It speaks one dialect strictly, as the real ones do: A to C take results as an array, D as an object
and only from who names its token and app; C and D answer with `data`.
"""

import http.client
import http.server
import json
import ssl
import threading
import time

from harness import free_port

APP = "billing"
TOKEN = "default_token"


class Admin:
    def __init__(self, dialect="B", token=TOKEN, root="/xxl-job-admin", certificate=None):
        """`certificate`: a file with it and its key, for https."""
        self.certificate = certificate
        self.dialect = dialect
        self.token = token
        self.root = root
        self.mode = "takes"  # "refuses": code 500; "breaks": HTTP 503; "hangs up" after it has read
        self.lock = threading.Lock()
        self.calls = []       # (path, body) that were taken
        self.refusals = []    # what was refused, and why
        self.turned_away = []  # paths of requests that got no answer, or 503
        self.addresses = []   # of executors that are registered
        self.results = {}     # log id -> the results that came for it
        self.batches = []     # sizes of callbacks
        self.port = free_port()
        self.log_id = 1000
        self.server = None
        self.start()

    @property
    def url(self):
        return f"http{'s' if self.certificate else ''}://127.0.0.1:{self.port}{self.root}"

    @property
    def payload(self):
        """The field of an answer that holds what was asked for."""
        return "content" if self.dialect in "AB" else "data"

    # ---- the side that executors call

    def start(self):
        admin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode("utf-8")
                if admin.mode in ("hangs up", "breaks"):
                    admin.turned_away.append(self.path)
                if admin.mode == "hangs up":
                    self.close_connection = True
                    return
                if admin.mode == "breaks":
                    return self.answer(503, "<html>away</html>")
                why = "told to" if admin.mode == "refuses" else admin.take(self.path, self.headers, body)
                if why:
                    admin.refusals.append((self.path, why))
                self.answer(200, json.dumps({"code": 500 if why else 200, "msg": why, admin.payload: None}))

            def answer(self, status, text):
                raw = text.encode("utf-8")
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *_):
                pass  # an executor that was killed

        self.server = Server(("127.0.0.1", self.port), Handler)
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate)
            # The handshake takes place where a connection is served, not where it is accepted.
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                     do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    def take(self, path, headers, body):
        """None, or why it is refused."""
        if self.token and headers.get("XXL-JOB-ACCESS-TOKEN") != self.token:
            return "The access token is wrong."
        if self.dialect == "D" and headers.get("XXL-JOB-APPNAME") != APP:
            return "invalid request, accessToken or appname invalid."
        value = json.loads(body)
        with self.lock:
            self.calls.append((path, value))
            if path == f"{self.root}/api/registry":
                self.addresses.append(value["registryValue"])
            elif path == f"{self.root}/api/registryRemove":
                self.addresses = [each for each in self.addresses if each != value["registryValue"]]
            elif path == f"{self.root}/api/callback":
                if isinstance(value, list) == (self.dialect == "D"):
                    return "openapi invoke error: wrong form"
                elements = value["callbackList"] if self.dialect == "D" else value
                self.batches.append(len(elements))
                for element in elements:
                    self.results.setdefault(element["logId"], []).append(element)
            else:
                return f"invalid request, uri-mapping({path}) not found."
        return None

    # ---- the side that calls executors

    def ask(self, path, body, address=None, headers=None, method="POST"):
        """The JSON of an executor's answer."""
        host, _, root = (address or self.addresses[-1]).split("//")[1].rstrip("/").partition("/")
        if headers is None:
            headers = {"XXL-JOB-ACCESS-TOKEN": self.token} if self.token else {}
            if self.dialect == "D":
                headers["XXL-JOB-APPNAME"] = APP
        connection = http.client.HTTPConnection(host, timeout=30)
        try:
            connection.request(method, f"/{root}{path}" if root else path, body if isinstance(body, str) else json.dumps(body),
                               {"Content-Type": "application/json;charset=UTF-8", **headers})
            answer = connection.getresponse()
            assert answer.status == 200, answer.status
            return json.loads(answer.read())
        finally:
            connection.close()

    def run(self, job=1, handler="", param="", address=None, **more):
        """Triggers a job: its log id and the answer."""
        with self.lock:
            self.log_id += 1
            log_id = self.log_id
        self.triggered_ms = int(time.time() * 1000)
        call = {"jobId": job, "executorHandler": handler, "executorParams": param,
                "executorBlockStrategy": "SERIAL_EXECUTION", "executorTimeout": 0, "logId": log_id,
                "logDateTime": self.triggered_ms, "glueType": "BEAN", "glueSource": "",
                "glueUpdatetime": 1710000000000, "broadcastIndex": 0, "broadcastTotal": 1, **more}
        path = "/trigger" if self.dialect == "D" else "/run"
        return log_id, self.ask(path, call, address)

    def log(self, log_id, from_line=1, address=None):
        name = "logDateTime" if self.dialect == "D" else "logDateTim"
        answer = self.ask("/log", {name: self.triggered_ms // 1000 * 1000, "logId": log_id,
                                   "fromLineNum": from_line}, address)
        return answer[self.payload]

    def result(self, log_id):
        with self.lock:
            return (self.results.get(log_id) or [None])[0]
