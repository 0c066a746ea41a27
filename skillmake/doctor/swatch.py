"""A picture of one colour, to ask a model whether it sees."""

import base64
import struct
import zlib

COLOUR = "green"
RGB = (40, 150, 60)
SIDE = 64  # pixels; some endpoints refuse smaller pictures


def swatch() -> str:
    """A data URL of a PNG that is green all over."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes(RGB) * SIDE) * SIDE
    head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    png = b"\x89PNG\r\n\x1a\n" + b"".join(parts)
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
