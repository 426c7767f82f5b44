"""The shop of shop_api.py as a real server: `python shop_server.py [FAULT]` listens on DAMASCUS_PORT."""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FAULT = sys.argv[1] if len(sys.argv) > 1 else ""


class Shop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path.partition("?")[0] == "/items":
            self._answer(200, [] if FAULT != "shape" else {"items": []})
        else:
            self._answer(500 if FAULT == "crash" else 200, {"id": 1, "name": "a"} if FAULT != "type" else {"id": "one"})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._answer(200 if FAULT == "status" else 201, None)

    def _answer(self, status: int, value: object) -> None:
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        return


if __name__ == "__main__" and FAULT != "exits":
    ThreadingHTTPServer(("127.0.0.1", int(os.environ["DAMASCUS_PORT"])), Shop).serve_forever()
