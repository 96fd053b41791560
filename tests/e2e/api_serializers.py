"""Bodies of media types that schemathesis does not know; it loads this file by itself."""

import json

import schemathesis


def raw(value):
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return bytes(value) if isinstance(value, (bytes, bytearray)) else json.dumps(value).encode()


@schemathesis.serializer("application/vnd.carillon.frame")
def frame(_, value):
    return raw(value)


@schemathesis.serializer("application/jsonl")
def json_lines(_, value):
    return b"\n".join(raw(one) for one in (value if isinstance(value, list) else [value]))
