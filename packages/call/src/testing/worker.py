"""A worker of the call protocol in plain Python, written from the protocol alone: shows that any language can join a head.

Usage: worker.py PORT ALIAS. Connects to the head on loopback, registers, and serves until the head closes the connection.
"""

import json
import socket
import struct
import sys
import threading
import uuid
from concurrent.futures import Future


class Aborted(Exception):
    """The caller gave up: nothing more is sent for the request."""


class Link:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.write = threading.Lock()
        self.pending = {}
        self.running = {}

    def send(self, event, request, payload):
        body = json.dumps({"type": event, "id": request, "payload": payload}, ensure_ascii=False).encode()
        with self.write:
            self.socket.sendall(struct.pack(">I", len(body)) + body)

    def read(self, count):
        data = b""
        while len(data) < count:
            chunk = self.socket.recv(count - len(data))
            if not chunk:
                return None
            data += chunk
        return data

    def call(self, name, value, parent=None):
        request, answer = str(uuid.uuid4()), Future()
        self.pending[request] = answer
        payload = {"name": name, "input": value}
        if parent:
            payload["parentRequestId"] = parent
        self.send("call.requested", request, payload)
        return answer.result(timeout=30)

    def serve(self):
        """Reads envelopes until the head closes. Handlers run beside this, so that they may call back."""
        while prefix := self.read(4):
            body = self.read(struct.unpack(">I", prefix)[0])
            if body is None:
                return
            envelope = json.loads(body)
            event, request, payload = envelope["type"], envelope["id"], envelope["payload"]
            if event == "call.requested":
                aborted = self.running[request] = threading.Event()
                threading.Thread(target=self.handle, args=(request, payload, aborted), daemon=True).start()
            elif event == "call.aborted" and request in self.running:
                self.running[request].set()
            elif event == "call.responded" and request in self.pending:
                self.pending.pop(request).set_result(payload)
            elif event == "call.error" and request in self.pending:
                self.pending.pop(request).set_exception(RuntimeError(payload["code"]))

    def handle(self, request, payload, aborted):
        operation = OPERATIONS.get(payload["name"])
        try:
            if operation is None:
                error = {"code": "NOT_FOUND", "message": "operation not found: " + payload["name"], "retryable": False}
                self.send("call.error", request, error)
                return
            op_type, handler = operation
            result = handler(self, payload.get("input"), request, aborted)
            if op_type == "subscription":
                for value in result:
                    self.send("call.responded", request, value)
                self.send("call.completed", request, {})
            else:
                self.send("call.responded", request, result)
        except Aborted:
            # The head hears of it as an ordinary call, for the test to see.
            self.call("/head/journal/aborted", payload["name"])
        except Exception as failure:
            self.send("call.error", request, {"code": "INTERNAL", "message": str(failure), "retryable": False})
        finally:
            self.running.pop(request, None)


def schema(_link, value, _request, _aborted):
    return {
        "name": value["name"],
        "op_type": OPERATIONS[value["name"]][0],
        "input_schema": {},
        "output_schema": {},
        "error_schemas": [],
        "access_control": {"required_scopes": ["python"] if value["name"] == "/text/secret" else []},
    }


def upper(_link, value, _request, _aborted):
    return value.upper()


def define(link, value, request, _aborted):
    """Asks the head while the head waits for this answer."""
    return {"word": value, "meaning": link.call("/head/dictionary/define", value, request)}


def count(_link, value, _request, _aborted):
    yield from range(1, value + 1)


def ticks(_link, _value, _request, aborted):
    yield 1
    yield 2
    aborted.wait()
    raise Aborted


def wait(link, value, _request, aborted):
    link.call("/head/journal/begun", value)
    aborted.wait()
    raise Aborted


OPERATIONS = {
    "/services/schema": ("query", schema),
    "/text/upper": ("query", upper),
    "/text/define": ("query", define),
    "/text/count": ("subscription", count),
    "/text/ticks": ("subscription", ticks),
    "/text/wait": ("query", wait),
    "/text/secret": ("query", upper),
}


def main():
    link = Link(int(sys.argv[1]))
    reader = threading.Thread(target=link.serve)
    reader.start()
    offered = [name for name in OPERATIONS if not name.startswith("/services/")]
    registered = link.call("/head/services/register", {"node": sys.argv[2], "operations": offered})
    print(json.dumps(registered), flush=True)
    reader.join()


main()
