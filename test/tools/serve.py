"""Serves a folder on the loopback address with the two headers that shared memory asks for.

usage: serve.py FOLDER [PORT]    prints the address; port 0, the default: any that is free

With ?test a page counts as loaded only when its title says "exit", so that a browser without a
screen waits for it before it takes the picture.
"""
import functools
import http.server
import os
import sys
import threading

TEST = b"""<img src="/hold" width="0" height="0" alt=""><script>
    const look = setInterval(() => {
        if (!document.title.includes('exit')) return;
        clearInterval(look);
        setTimeout(() => fetch('/release'), 500);
    }, 50);
</script>"""
released = threading.Event()


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path == "/hold":
            released.wait(60)
            self.answer(b"")
        elif path == "/release":
            released.set()
            self.answer(b"")
        elif query == "test" and path.endswith(".html"):
            released.clear()
            with open(os.path.join(self.directory, os.path.basename(path)), "rb") as page:
                self.answer(page.read() + TEST)
        else:
            super().do_GET()

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def end_headers(self):
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, *_):
        pass


folder, port = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
handler = functools.partial(Handler, directory=folder)
with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
