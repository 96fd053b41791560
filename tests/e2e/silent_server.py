"""An executor of xxl-job that hangs."""

import socket
import threading


class SilentServer:
    """An executor that takes connections and requests, and never answers."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1000)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"
        self.connections = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                self.connections.append(self.listener.accept()[0])
            except OSError:
                return

    def close(self):
        self.listener.close()
        for each in self.connections:
            each.close()
