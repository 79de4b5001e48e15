"""usage: hover.py [name ...]

Asks clangd, as an editor does, what it shows when the pointer rests on a public name of wsq.h: with names,
it prints that; without, it asks for all functions, types and enumerators, and fails if one has no words.
(Macros: clangd shows their definition, and no comment.)
"""

import json
import os
import re
import subprocess
import sys

root = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
with open(os.path.join(root, "wsq.h"), encoding="utf-8") as file:
    header = file.read()
header = header[header.index("#ifndef WSQ_H"):header.index("#endif /* WSQ_H")]

types = re.findall(r"^typedef (?:struct|enum) (wsq_\w+)", header, re.M)
types += re.findall(r"^typedef .*\(\*(wsq_\w+)\)", header, re.M) + ["wsq_ctx"]
functions = re.findall(r"^(?:WSQ_API|static inline) [^(]*\b(wsq_\w+)\(", header, re.M)
constants = re.findall(r"^    (WSQ_[A-Z_]+)\b", header, re.M)
names = sys.argv[1:] or sorted(set(types + functions + constants))

clangd = subprocess.Popen(["clangd", "--log=error"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, cwd=root)


def send(method, params, number=None):
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        message["id"] = number
    body = json.dumps(message).encode()
    clangd.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    clangd.stdin.flush()


def receive():
    length = 0
    while line := clangd.stdout.readline().strip():
        if line.lower().startswith(b"content-length"):
            length = int(line.split(b":")[1])
    return json.loads(clangd.stdout.read(length))


def ask(method, params, number):
    send(method, params, number)
    while True:
        message = receive()
        if message.get("id") == number and "method" not in message:
            return message.get("result")


def words(shown, name):
    """The lines of a hover that are neither the declaration nor its parts."""
    parts = ("function", "type-alias", "enumerator", "Type:", "Value", "Parameters", "- ", "//", "\u2192",
             "typedef", "extern", "static", name + " =")
    lines = [line for line in shown.splitlines() if line and not line.startswith(parts)]
    return " ".join(lines)


text = '#include "wsq.h"\n' + "".join(
    f"{name} *of_{name};\n" if name in types else f"void of_{name}(void) {{ (void)({name}); }}\n" for name in names)
document = {"uri": "file://" + os.path.join(root, "hover_probe.c")}
content = {"hover": {"contentFormat": ["plaintext"]}}
ask("initialize", {"processId": None, "rootUri": "file://" + root, "capabilities": {"textDocument": content}}, 0)
send("initialized", {})
send("textDocument/didOpen", {"textDocument": {**document, "languageId": "c", "version": 1, "text": text}})
silent = []
for line, name in enumerate(names, 1):
    column = re.search(rf"(?<!\w){name}(?!\w)", text.splitlines()[line]).start()
    place = {"textDocument": document, "position": {"line": line, "character": column + 1}}
    answer = ask("textDocument/hover", place, line)
    shown = answer["contents"]["value"] if answer else ""
    if sys.argv[1:]:
        print(shown)
    if not words(shown, name):
        silent.append(name)
clangd.kill()
print(f"{len(names)} names, without a word: {' '.join(silent) or 'none'}")
sys.exit(1 if silent else 0)
