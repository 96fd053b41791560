"""A small client of the HTTP API for the tests."""

import http.client
import json
import socket
import threading
import urllib.parse

PATIENCE = 30


def quoted(text):
    return urllib.parse.quote(text, safe="")


class Reply:
    def __init__(self, response, body):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.text = body.decode("utf-8", "replace")

    @property
    def json(self):
        return json.loads(self.text)

    def __repr__(self):
        return f"{self.status} {self.text[:500]}"


class Events:
    """Server-sent events that are read by a thread of their own."""

    def __init__(self, response):
        self.response = response
        self.events = []
        self.has_ended = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        event = {}
        try:
            for raw in self.response:
                line = raw.decode().rstrip("\n")
                if not line:
                    if "data" in event:
                        self.events.append(event)
                    event = {}
                elif not line.startswith(":"):
                    name, _, value = line.partition(": ")
                    event[name] = value
        except (OSError, http.client.HTTPException, ValueError):
            pass
        self.has_ended = True

    def of(self, kind):
        return [json.loads(one["data"]) for one in self.events if one.get("event") == kind]

    def ids(self):
        return [int(one["id"]) for one in self.events if "id" in one]


class Api:
    """Calls of one job tracker. `token` None: without access."""

    def __init__(self, url, token=None):
        self.address = urllib.parse.urlsplit(url).netloc
        self.token = token

    def _begin(self, method, path, body=None, headers=(), timeout=PATIENCE):
        connection = http.client.HTTPConnection(self.address, timeout=timeout)
        sent = {"Content-Type": "application/json", **dict(headers)}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        connection.request(method, "/api/v1" + path, body=body, headers=sent)
        return connection, connection.getresponse()

    def call(self, method, path, body=None, headers=()):
        connection, response = self._begin(method, path, body, headers)
        try:
            return Reply(response, response.read())
        finally:
            connection.close()

    def get(self, path, **parameters):
        query = urllib.parse.urlencode(parameters)
        return self.call("GET", path + ("?" + query if query else ""))

    def post(self, path, body=None, **headers):
        return self.call("POST", path, body, [(name.replace("_", "-"), value)
                                              for name, value in headers.items()])

    def items(self, path, **parameters):
        """All pages of a list."""
        items = []
        token = ""
        while True:
            page = self.get(path, **parameters, **({"page_token": token} if token else {}))
            if page.status != 200:
                raise AssertionError(page)
            items += page.json["items"]
            token = page.json["next_page_token"]
            if not token:
                return items

    def events(self, path="/events", headers=()):
        _, response = self._begin("GET", path, headers=headers, timeout=300)
        if response.status != 200:
            raise AssertionError(Reply(response, response.read()))
        return Events(response)

    def raw_connection(self):
        host, port = self.address.rsplit(":", 1)
        return socket.create_connection((host, int(port)), timeout=PATIENCE)
