"""A server of objects in memory with the part of S3's interface that readers use, and the faults of a real one."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


class ObjectServer:
    """Objects by "bucket/key". `on_read(path, reads)` is called before each ranged read; it may change objects or wait."""

    def __init__(self):
        self.objects, self.buckets, self.forbidden = {}, set(), set()
        self.on_read = lambda path, reads: None
        self.requests, self.reads, self.largest = [], 0, 0
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"store": self}))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def query(self):
        return f"scheme=http&endpoint_override=127.0.0.1:{self.server.server_address[1]}&region=us-east-1"

    def put_folder(self, folder, bucket, prefix=""):
        self.buckets.add(bucket)
        for file in folder.rglob("*"):
            if file.is_file():
                self.objects[f"{bucket}/{prefix}{file.relative_to(folder)}"] = file.read_bytes()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # Headers and body leave in one packet.
    store = None

    def log_message(self, *_):
        pass

    def reply(self, code, body=b"", headers=(), length=None):
        self.send_response(code)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def fail(self, code, word):
        text = f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{word}</Code><Message>no</Message></Error>"
        self.reply(code, text.encode() if self.command == "GET" else b"", {"Content-Type": "application/xml"})

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        store, url = self.store, urlsplit(self.path)
        path = unquote(url.path).strip("/")
        bucket = path.split("/")[0]
        store.requests.append((self.command, path))
        if bucket in store.forbidden or path in store.forbidden:
            return self.fail(403, "AccessDenied")
        if bucket not in store.buckets:
            return self.fail(404, "NoSuchBucket")
        if path == bucket:
            return self.reply(200) if self.command == "HEAD" else self.list(bucket, parse_qs(url.query))
        if self.command == "GET":
            store.reads += 1
            store.on_read(path, store.reads)
        if path not in store.objects:
            return self.fail(404, "NoSuchKey")
        data = store.objects[path]
        headers = {"ETag": f'"{hashlib.md5(data).hexdigest()}"', "Content-Type": "binary/octet-stream",
                   "Last-Modified": "Mon, 30 Nov 2026 12:00:00 GMT"}
        if self.command == "HEAD":
            return self.reply(200, headers=headers, length=len(data))
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        if first >= len(data):
            return self.fail(416, "InvalidRange")
        part = data[first:last + 1]
        store.largest = max(store.largest, len(part))
        return self.reply(206, part, headers | {"Content-Range": f"bytes {first}-{first + len(part) - 1}/{len(data)}"})

    def list(self, bucket, words):
        """Pages of two objects, so that readers must ask for more; `delimiter` is taken as a reader of all would."""
        prefix, after = words.get("prefix", [""])[0], words.get("continuation-token", [""])[0]
        delimiter = words.get("delimiter", [""])[0]
        keys = sorted(path.split("/", 1)[1] for path in self.store.objects if path.startswith(f"{bucket}/{prefix}"))
        if delimiter:
            short = {key[:len(prefix)] + key[len(prefix):].partition(delimiter)[0] + delimiter
                     for key in keys if delimiter in key[len(prefix):]}
            keys = sorted([key for key in keys if delimiter not in key[len(prefix):]] + list(short))
        page = [key for key in keys if key > after][:2]
        more = bool(page) and page[-1] != keys[-1]
        text = "".join(f"<CommonPrefixes><Prefix>{escape(key)}</Prefix></CommonPrefixes>" if delimiter and key.endswith(delimiter) else
                       f"<Contents><Key>{escape(key)}</Key><Size>{len(self.store.objects[f'{bucket}/{key}'])}</Size>"
                       "<LastModified>2026-11-30T12:00:00.000Z</LastModified></Contents>" for key in page)
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        body = (f"<?xml version='1.0' encoding='UTF-8'?><ListBucketResult><Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix>"
                f"<KeyCount>{len(page)}</KeyCount><IsTruncated>{str(more).lower()}</IsTruncated>{token}{text}</ListBucketResult>")
        self.reply(200, body.encode(), {"Content-Type": "application/xml"})
