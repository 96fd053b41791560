"""A network that misbehaves on command, between the job tracker and its database or a task tracker."""

import contextlib
import socket
import threading

BEFORE = "before the server gets it"
AFTER = "after the server did it, and before the client hears of it"
HANG = "nobody hears of the other any more, and nobody is told"

# The whole statement as it is sent, unlike the READ COMMITTED of a new connection.
COMMIT = b"\x07\0\0\0\x03COMMIT"


class Proxy:
    """Forwards a free port of 127.0.0.1 to another port there."""

    def __init__(self, target):
        self.target = target
        self.struck = threading.Event()  # the cut that was asked for has happened
        self._lock = threading.Lock()
        self._links = set()
        self._text, self._when, self._after = None, None, None
        self.passes = threading.Event()
        self.passes.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_at(self, text, when, after=None):
        """Once: the connection on which a client sends these bytes ends there, or hangs.

        `after`: not before these were sent by anybody.
        """
        with self._lock:
            self.struck.clear()
            self._text, self._when, self._after = text, when, after

    def spare(self):
        """No cut any more, if it has not come to one."""
        with self._lock:
            self._text = None

    def cut_off(self):
        """From now on nothing arrives, and nobody is told; mend() lets it arrive."""
        self.passes.clear()

    def mend(self):
        self.passes.set()

    def lead_to(self, target):
        """New connections go to that port; those of before end."""
        self.target = target
        with self._lock:
            links = list(self._links)
        for link in links:
            link.close()

    def takes_cut(self, data):
        with self._lock:
            if self._after and self._after in data:
                self._after = None
            if self._text is None or self._after or self._text not in data:
                return None
            self._text = None
            return self._when

    def close(self):
        self.passes.set()
        # Closing alone would let one more come in, whom accept() waits for already.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            links = list(self._links)
        for link in links:
            link.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self.target), timeout=5)
                except OSError:
                    client.close()
                    continue
                server.settimeout(None)
                with self._lock:
                    self._links.add(_Link(self, client, server))

    def forget(self, link):
        with self._lock:
            self._links.discard(link)


class _Link:
    """One connection through the proxy."""

    def __init__(self, proxy, client, server):
        self.proxy, self.client, self.server = proxy, client, server
        self.keeps_answers = False
        self.answered = threading.Event()
        self.closed = threading.Event()
        for work in (self._up, self._down):
            threading.Thread(target=work, daemon=True).start()

    def close(self):
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self.proxy.forget(self)
        self.closed.set()

    def _up(self):
        cut = None
        with contextlib.suppress(OSError):
            while cut is None and (data := self.client.recv(65536)):
                self.proxy.passes.wait()
                cut = self.proxy.takes_cut(data)
                self.keeps_answers = cut == AFTER
                if cut not in (BEFORE, HANG):
                    self.server.sendall(data)
            if cut == HANG:
                self.proxy.struck.set()
                self.closed.wait()
            if cut == AFTER:
                self.answered.wait(30)
        self.proxy.passes.wait()  # Of an end nobody is told either.
        self.close()
        if cut:
            self.proxy.struck.set()

    def _down(self):
        with contextlib.suppress(OSError):
            while data := self.server.recv(65536):
                self.proxy.passes.wait()
                if self.keeps_answers:
                    self.answered.set()
                    return
                self.client.sendall(data)
        self.proxy.passes.wait()
        self.close()
