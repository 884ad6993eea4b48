"""A stand-in for the Hub: what its client asks for when it pushes and fetches, answered from memory over HTTP."""

import base64
import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest
from huggingface_hub import close_session, constants

# The client warns of the way in which it calls its own library for HTTP.
quiet_client = pytest.mark.filterwarnings("ignore:Use 'content=<...>' to upload:DeprecationWarning")


@dataclass
class Repository:
    """Its commits, each all files by path and its parent, and where the branches are. Large files are LFS objects."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    branches: dict[str, str] = field(default_factory=dict)

    def commit(self, branch: str, files: dict[str, bytes], message: str) -> str:
        content = {**self.commits.get(self.branches.get(branch, ""), {}), **files}
        oid = hashlib.sha1(f"{len(self.commits)} {message}".encode()).hexdigest()
        self.commits[oid], self.branches[branch] = content, oid
        self.messages.append(message)
        return oid

    def files(self, revision: str) -> tuple[str, dict[str, bytes]] | None:
        oid = self.branches.get(revision, revision)
        return (oid, self.commits[oid]) if oid in self.commits else None


@dataclass
class Hub:
    """All repositories, the objects that were uploaded, and what was asked."""

    url: str = ""
    repositories: dict[str, Repository] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    is_down: bool = False


def is_large(path: str) -> bool:
    """What .gitattributes of a repository keeps as LFS objects."""
    return path.endswith((".safetensors", ".onnx", ".png"))


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        self._answer("GET")

    def do_HEAD(self) -> None:
        self._answer("HEAD")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_PUT(self) -> None:
        self._answer("PUT")

    def _answer(self, method: str) -> None:
        path = unquote(urlparse(self.path).path)
        self.hub.requests.append(f"{method} {path}")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.hub.is_down:
            return self._send(503, b"down")
        for pattern, methods, answer in _ROUTES:
            if method in methods and (match := re.fullmatch(pattern, path)):
                return answer(self, body, **match.groupdict())
        return self._send(404, f"no route for {method} {path}".encode())

    def _send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _json(self, content: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(content).encode(), {"Content-Type": "application/json", **(headers or {})})

    def _missing(self, code: str) -> None:
        self._json({"error": code}, 404, {"X-Error-Code": code})

    def create(self, body: bytes) -> None:
        asked = json.loads(body)
        repo = f"{asked['organization']}/{asked['name']}" if asked.get("organization") else asked["name"]
        if repo in self.hub.repositories:
            return self._json({"error": "You already created this model repo", "url": f"{self.hub.url}/{repo}"}, 409)
        self.hub.repositories[repo] = made = Repository()
        made.commit("main", {".gitattributes": b"*.safetensors filter=lfs\n"}, "initial commit")
        return self._json({"url": f"{self.hub.url}/{repo}", "name": repo})

    def branch(self, body: bytes, repo: str, name: str) -> None:
        made = self.hub.repositories[repo]
        made.branches.setdefault(name, made.branches["main"])
        self._json({})

    def validate(self, body: bytes) -> None:
        text = json.loads(body)["content"]
        self._json({"warnings": [] if text.startswith("---\n") else [{"message": "empty or missing yaml metadata"}]})

    def preupload(self, body: bytes, repo: str, revision: str) -> None:
        listed = json.loads(body)["files"]
        modes = {each["path"]: "lfs" if is_large(each["path"]) else "regular" for each in listed}
        self._json(
            {"files": [{"path": path, "uploadMode": mode, "shouldIgnore": False} for path, mode in modes.items()]}
        )

    def batch(self, body: bytes, repo: str) -> None:
        asked = json.loads(body)["objects"]
        to_upload = [each for each in asked if each["oid"] not in self.hub.objects]
        objects = [{**each, "actions": {"upload": {"href": f"{self.hub.url}/lfs/{each['oid']}"}}} for each in to_upload]
        objects += [each for each in asked if each not in to_upload]
        self._json({"transfer": "basic", "objects": objects})

    def upload(self, body: bytes, oid: str) -> None:
        if hashlib.sha256(body).hexdigest() != oid:
            return self._send(400, b"another checksum")
        self.hub.objects[oid] = body
        return self._send(200, b"")

    def commit(self, body: bytes, repo: str, revision: str) -> None:
        header, *lines = [json.loads(line) for line in body.splitlines()]
        files = {}
        for line in lines:
            value = line["value"]
            files[value["path"]] = (
                self.hub.objects[value["oid"]] if line["key"] == "lfsFile" else base64.b64decode(value["content"])
            )
        oid = self.hub.repositories[repo].commit(revision, files, header["value"]["summary"])
        self._json({"commitUrl": f"{self.hub.url}/{repo}/commit/{oid}", "commitOid": oid, "pullRequestUrl": None})

    def info(self, body: bytes, repo: str, revision: str = "main") -> None:
        if repo not in self.hub.repositories:
            return self._missing("RepoNotFound")
        found = self.hub.repositories[repo].files(revision)
        if found is None:
            return self._missing("RevisionNotFound")
        return self._json(
            {"id": repo, "modelId": repo, "sha": found[0], "siblings": [{"rfilename": path} for path in found[1]]}
        )

    def tree(self, body: bytes, repo: str, revision: str) -> None:
        found = self.hub.repositories[repo].files(revision)
        assert found is not None
        entries = []
        for path, content in found[1].items():
            entry: dict[str, Any] = {"type": "file", "path": path, "size": len(content), "oid": _blob(content)}
            if is_large(path):
                entry["lfs"] = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
            entries.append(entry)
        self._json(entries)

    def resolve(self, body: bytes, repo: str, revision: str, path: str) -> None:
        found = self.hub.repositories[repo].files(revision)
        if found is None or path not in found[1]:
            return self._missing("EntryNotFound")
        content = found[1][path]
        etag = hashlib.sha256(content).hexdigest() if is_large(path) else _blob(content)
        return self._send(200, content, {"ETag": f'"{etag}"', "X-Repo-Commit": found[0], "Accept-Ranges": "bytes"})


def _blob(content: bytes) -> str:
    return hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()


_REPO = r"(?P<repo>[^/]+/[^/]+)"
_ROUTES = (
    (r"/api/repos/create", ("POST",), _Handler.create),
    (r"/api/validate-yaml", ("POST",), _Handler.validate),
    (rf"/api/models/{_REPO}/branch/(?P<name>.+)", ("POST",), _Handler.branch),
    (rf"/api/models/{_REPO}/preupload/(?P<revision>.+)", ("POST",), _Handler.preupload),
    (rf"/api/models/{_REPO}/commit/(?P<revision>.+)", ("POST",), _Handler.commit),
    (rf"/api/models/{_REPO}/revision/(?P<revision>.+)", ("GET",), _Handler.info),
    (rf"/api/models/{_REPO}/tree/(?P<revision>[^/]+)", ("GET",), _Handler.tree),
    (rf"/api/models/{_REPO}", ("GET",), _Handler.info),
    (rf"/{_REPO}\.git/info/lfs/objects/batch", ("POST",), _Handler.batch),
    (r"/lfs/(?P<oid>[0-9a-f]{64})", ("PUT",), _Handler.upload),
    (rf"/{_REPO}/resolve/(?P<revision>[^/]+)/(?P<path>.+)", ("GET", "HEAD"), _Handler.resolve),
)


@contextlib.contextmanager
def serving() -> Iterator[Hub]:
    """Serves an empty hub on a port of this machine within the block."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """The stand-in, as the real client sees it: with a cache of its own, and large files as LFS objects."""
    with serving() as served:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        # What the client took from the environment as it was imported: it asks for more than the API it is told to.
        monkeypatch.setattr(constants, "ENDPOINT", served.url)
        template = served.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setenv("HF_TOKEN", "hf_none")
        monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        yield served
        close_session()


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Puts the client into the state of HF_HUB_OFFLINE=1, which it reads as it is imported."""

    def cut() -> None:
        close_session()
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    return cut
