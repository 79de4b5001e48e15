#!/usr/bin/env python3
"""usage: test/examples/check_png.py file width height

Reads a PNG with three bytes a pixel strictly: signature, chunks and their sums, the stream's length,
known filters. Exit code 0 if all of it is right.
"""
import struct
import sys
import zlib


def chunks(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "signature"
    at = 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        (crc,) = struct.unpack(">I", data[at + 8 + size:at + 12 + size])
        assert crc == zlib.crc32(kind + body), "sum of " + kind.decode()
        yield kind, body
        at += 12 + size


def main(path, width, height):
    with open(path, "rb") as file:
        found = list(chunks(file.read()))
    assert [kind for kind, _ in found] == [b"IHDR", b"IDAT", b"IEND"], "chunks"
    assert found[0][1] == struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0), "header"
    rows = zlib.decompress(found[1][1])
    assert len(rows) == height * (3 * width + 1), "length"
    assert all(rows[y * (3 * width + 1)] <= 4 for y in range(height)), "filter"


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
