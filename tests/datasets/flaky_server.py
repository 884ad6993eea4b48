"""A web server on this machine that serves one file and misbehaves on demand."""

import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Answer:
    """How one request is answered. The default is a good server's: ranges, ETag, the whole file."""

    content: bytes | None = None  # instead of the server's
    status: int | None = None  # instead of the file
    hangs_up: bool = False  # instead of any answer
    headers: dict[str, str] = field(default_factory=dict)
    etag: str | None = '"one"'
    last_modified: str | None = None
    knows_range: bool = True
    knows_if_range: bool = True
    cut_after: int | None = None  # as many bytes of the body, then the connection ends
    holds: bool = False  # or it does not end, and nothing more comes
    promised: int | None = None  # instead of the true Content-Length
    length: str = "given"  # or "chunked", or "until it closes"
    content_range: str | None = None  # instead of the true one


@dataclass(frozen=True)
class Asked:
    path: str
    headers: dict[str, str]
    num_bytes: int  # of the body, as sent


class FlakyServer:
    """Answers as the script says, one entry a request, and well when that is at its end (or as `always` says)."""

    def __init__(self, content, *script, always=None):
        self.content = content
        self.script = list(script)
        self.always = always or Answer()
        self.asked = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.handle_error = lambda *_: None  # a client that hangs up is what is tested
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def root(self):
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self):
        return f"{self.root}/file.bin"

    @property
    def served(self):
        """The bytes of files that were sent, request by request."""
        return [asked.num_bytes for asked in self.asked]

    @property
    def ranges(self):
        return [asked.headers.get("Range") for asked in self.asked]

    @property
    def conditions(self):
        return [asked.headers.get("If-Range") for asked in self.asked]

    def next_answer(self):
        with self._lock:
            return self.script.pop(0) if self.script else self.always


def _handler(server):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def do_GET(self):
            answer = server.next_answer()
            self.close_connection = True
            if answer.hangs_up:
                server.asked.append(Asked(self.path, dict(self.headers), 0))
                return
            status, headers, body = _response(self, answer, server.content)
            sent = body if answer.cut_after is None else body[: answer.cut_after]
            # Noted before the last byte goes: a client that has it may look at once.
            server.asked.append(Asked(self.path, dict(self.headers), len(sent)))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self._send(answer, sent, whole=sent == body)
            if answer.holds:
                self.rfile.read(1)  # until the client hangs up

        def _send(self, answer, sent, whole):
            if answer.length != "chunked":
                self.wfile.write(sent)
                return
            for start in range(0, len(sent), 1000):
                chunk = sent[start : start + 1000]
                self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            if whole:
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_):
            pass

    return Handler


def _response(request, answer, content):
    """Status, headers and body of the answer to a request, as if nothing were to go wrong on the way."""
    if answer.status is not None:
        return answer.status, {"Content-Length": "0", **answer.headers}, b""
    content = content if answer.content is None else answer.content
    headers = {"Content-Type": "application/octet-stream"}
    if answer.etag is not None:
        headers["ETag"] = answer.etag
    if answer.last_modified is not None:
        headers["Last-Modified"] = answer.last_modified
    status, body = 200, content
    condition = request.headers.get("If-Range")
    holds = condition is None or not answer.knows_if_range or condition in (answer.etag, answer.last_modified)
    if answer.knows_range and holds and (found := re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range", ""))):
        start = int(found[1])
        if start >= len(content):
            return 416, {"Content-Length": "0", "Content-Range": f"bytes */{len(content)}"}, b""
        status, body = 206, content[start:]
        headers["Content-Range"] = answer.content_range or f"bytes {start}-{len(content) - 1}/{len(content)}"
    if answer.length == "given":
        headers["Content-Length"] = str(len(body) if answer.promised is None else answer.promised)
    elif answer.length == "chunked":
        headers["Transfer-Encoding"] = "chunked"
    else:
        headers["Connection"] = "close"
    return status, {**headers, **answer.headers}, body
