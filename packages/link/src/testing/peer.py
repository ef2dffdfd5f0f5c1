# An ALP peer in plain Python, written from the protocol and not from this code, on the `cryptography` package. It is a caller, or a server
# with one agent that answers link.ping, link.ask and link.cancel. One JSON object on standard input says what; to a server, further ones say whom
# it pins.
import base64, hashlib, hmac, json, os, socket, struct, sys, threading
from datetime import datetime, timedelta, timezone

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

NAME = b"Noise_XK_25519_ChaChaPoly_SHA256"
P = 2**255 - 19


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def sign(key, own, to, body, shift=0.0):
    now = datetime.now(timezone.utc) + timedelta(seconds=shift)
    alp = {"v": 1, "from": own, "to": to, "ts": now.isoformat().replace("+00:00", "Z"), "nonce": os.urandom(16).hex()}
    message = {"jsonrpc": "2.0", **body, "alp": alp}
    alp["sig"] = base64.b64encode(key.sign(canonical(message))).decode()
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def verify(data, own):
    message = json.loads(data)
    alp = message["alp"]
    sig = base64.b64decode(alp.pop("sig"))
    Ed25519PublicKey.from_public_bytes(base64.b64decode(alp["from"])).verify(sig, canonical(message))
    sent = datetime.fromisoformat(alp["ts"].replace("Z", "+00:00"))
    assert abs((datetime.now(timezone.utc) - sent).total_seconds()) <= 120
    assert alp["v"] == 1 and alp["to"] == own
    return message


def x_private(seed):
    h = bytearray(hashlib.sha512(seed).digest()[:32])
    h[0] &= 0xF8
    h[31] &= 0x7F
    h[31] |= 0x40
    return X25519PrivateKey.from_private_bytes(bytes(h))


def x_public(ed):
    y = int.from_bytes(ed, "little") & ((1 << 255) - 1)
    return ((1 + y) * pow(1 - y, P - 2, P) % P).to_bytes(32, "little")


def hkdf(ck, ikm):
    temp = hmac.new(ck, ikm, hashlib.sha256).digest()
    one = hmac.new(temp, b"\x01", hashlib.sha256).digest()
    return one, hmac.new(temp, one + b"\x02", hashlib.sha256).digest()


def nonce(n):
    return b"\0\0\0\0" + struct.pack("<Q", n)


class Symmetric:
    def __init__(self):
        self.h = self.ck = NAME
        self.k, self.n = None, 0

    def mix_hash(self, data):
        self.h = hashlib.sha256(self.h + data).digest()

    def mix_key(self, ikm):
        self.ck, self.k = hkdf(self.ck, ikm)
        self.n = 0

    def encrypt(self, plain):
        out = ChaCha20Poly1305(self.k).encrypt(nonce(self.n), plain, self.h)
        self.n += 1
        self.mix_hash(out)
        return out

    def decrypt(self, data):
        out = ChaCha20Poly1305(self.k).decrypt(nonce(self.n), data, self.h)
        self.n += 1
        self.mix_hash(data)
        return out


def exactly(sock, count):
    data = b""
    while len(data) < count:
        more = sock.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def raw(key):
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def dh(private, public):
    return private.exchange(X25519PublicKey.from_public_bytes(public))


class Noise:
    """Frames over TCP, after the handshake as initiator (the remote key is known) or as responder."""

    def __init__(self, sock, own, remote=None):
        self.sock = sock
        s, e = Symmetric(), X25519PrivateKey.generate()
        s.mix_hash(b"")
        s.mix_hash(remote if remote else raw(own))
        if remote:
            s.mix_hash(raw(e))
            s.mix_key(dh(e, remote))
            self.put16(raw(e) + s.encrypt(b""))
            two = self.get16()
            s.mix_hash(two[:32])
            s.mix_key(dh(e, two[:32]))
            s.decrypt(two[32:])
            sealed = s.encrypt(raw(own))
            s.mix_key(dh(own, two[:32]))
            self.put16(sealed + s.encrypt(b""))
            self.send_key, self.receive_key = hkdf(s.ck, b"")
        else:
            one = self.get16()
            s.mix_hash(one[:32])
            s.mix_key(dh(own, one[:32]))
            s.decrypt(one[32:])
            s.mix_hash(raw(e))
            s.mix_key(dh(e, one[:32]))
            self.put16(raw(e) + s.encrypt(b""))
            three = self.get16()
            static = s.decrypt(three[:48])
            s.mix_key(dh(e, static))
            s.decrypt(three[48:])
            self.receive_key, self.send_key = hkdf(s.ck, b"")
        self.sent = self.received = 0

    def put16(self, data):
        self.sock.sendall(struct.pack(">H", len(data)) + data)

    def get16(self):
        return exactly(self.sock, struct.unpack(">H", exactly(self.sock, 2))[0])

    def send(self, data):
        out = ChaCha20Poly1305(self.send_key).encrypt(nonce(self.sent), data, None)
        self.sent += 1
        self.sock.sendall(struct.pack(">I", len(out)) + out)

    def receive(self):
        data = exactly(self.sock, struct.unpack(">I", exactly(self.sock, 4))[0])
        out = ChaCha20Poly1305(self.receive_key).decrypt(nonce(self.received), data, None)
        self.received += 1
        return out


class Lines:
    def __init__(self, sock):
        self.sock, self.file = sock, sock.makefile("rb")

    def send(self, data):
        self.sock.sendall(data + b"\n")

    def receive(self):
        line = self.file.readline()
        if not line:
            raise EOFError
        return line


def say(value):
    print(json.dumps(value), flush=True)


def dial(job, noise):
    if "path" in job:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(job["path"])
        return Lines(sock)
    sock = socket.create_connection(("127.0.0.1", job["port"]))
    return Noise(sock, noise, x_public(base64.b64decode(job.get("dial", job["to"]))))


def request(job, key, own, method, params):
    body = {"id": os.urandom(16).hex(), "method": method, "params": params}
    return sign(key, own, job["to"], body, job.get("shift", 0.0))


def exchange(job, own, noise, data, seen=say):
    """Sends one request and tells every envelope that comes back."""
    channel = dial(job, noise)
    channel.send(data)
    while True:
        message = verify(channel.receive(), own)
        seen({"result": message.get("result"), "error": message.get("error"), "stream": message.get("stream")})
        if message.get("stream") != "chunk":
            return


def call(job, key, own, noise):
    """One request, then how it ended. `twice` sends the same bytes again, on a new connection."""
    data = request(job, key, own, job["method"], job["params"])
    for _ in range(2 if job.get("twice") else 1):
        try:
            exchange(job, own, noise, data)
            say("answered")
        except (EOFError, ConnectionError):
            say("dropped")


def cancel(job, key, own, noise):
    """Asks, and cancels on a connection of its own when the first text is there; `leave` hangs up instead."""
    if job.get("leave"):
        channel = dial(job, noise)
        channel.send(request(job, key, own, "link.ask", job["params"]))
        say({"first": verify(channel.receive(), own).get("result")})
        channel.sock.shutdown(socket.SHUT_RDWR)
        channel.sock.close()
        return

    def seen(message):
        say(message)
        if message["stream"] == "chunk":
            exchange(job, own, noise, request(job, key, own, "link.cancel", {"session_id": ""}), lambda other: say({"cancel": other["result"]}))

    exchange(job, own, noise, request(job, key, own, "link.ask", job["params"]), seen)


class Agent:
    """One turn at a time. The prompt `wait` goes on until it is cancelled."""

    def __init__(self):
        self.turn = threading.Lock()
        self.session, self.caller, self.stop = None, None, threading.Event()

    def ask(self, params, caller, reply):
        prompt = params.get("prompt", "").strip()
        if not prompt:
            return reply(error={"code": -32602, "message": "invalid-params", "data": {"detail": "prompt"}})
        if not self.turn.acquire(blocking=False):
            return reply(error={"code": -32007, "message": "target-busy", "data": {"detail": "busy"}})
        try:
            self.stop.clear()
            self.session, self.caller = os.urandom(6).hex(), caller
            if params.get("stream"):
                for text in ("Hel", "lo ✅"):
                    reply(result={"text": text}, stream="chunk")
            stopped = self.stop.wait(30) if prompt == "wait" else False
            text = "[cancelled]" if stopped else "Hello ✅"
            result = {"text": text, "tokens_in": 7, "tokens_out": 3, "cost": 1.0, "session_id": self.session, "interrupted": stopped}
        finally:
            self.session = None
            self.turn.release()
        reply(result=result, **({"stream": "final"} if params.get("stream") else {}))

    def cancel(self, params, caller, reply):
        wanted = params.get("session_id", "")
        if self.session is None or self.caller != caller or wanted not in ("", self.session):
            return reply(result={"cancelled": False})
        self.stop.set()
        reply(result={"cancelled": True, "session_id": self.session})


def answer(channel, key, own, agent, pinned):
    message = verify(channel.receive(), own)
    sender, params = message["alp"]["from"], message.get("params") or {}
    if pinned is not None and sender not in pinned:
        return say({"knock": sender})

    def reply(**body):
        channel.send(sign(key, own, sender, {"id": message["id"], **body}))

    if message["method"] == "link.ping":
        reply(result={"nonce": params["nonce"], "version": 1, "agent_name": "python", "cost": 0.0, "tiny": 1e-07, "large": 10**25})
    elif message["method"] == "link.ask":
        agent.ask(params, sender, reply)
    else:
        agent.cancel(params, sender, reply)


def serve(job, key, own, noise):
    """One request for each connection, as early servers do. `pinned`: who is answered; everybody where it is left out."""
    if "path" in job:
        server = socket.socket(socket.AF_UNIX)
        server.bind(job["path"])
    else:
        server = socket.socket()
        server.bind(("127.0.0.1", 0))
    server.listen()
    agent, pinned = Agent(), set(job["pinned"]) if "pinned" in job else None

    def attend(sock):
        try:
            answer(Lines(sock) if "path" in job else Noise(sock, noise), key, own, agent, pinned)
        except (EOFError, OSError):
            pass
        except Exception as error:
            print(repr(error), file=sys.stderr, flush=True)
        finally:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    def orders():
        for line in sys.stdin:
            pinned.add(json.loads(line)["pin"])
            say("pinned")

    threading.Thread(target=orders, daemon=True).start()
    say({"port": None if "path" in job else server.getsockname()[1]})
    while True:
        sock, _ = server.accept()
        threading.Thread(target=attend, args=(sock,), daemon=True).start()


def main():
    """Jobs, a line each; what a caller says of one ends with `done`. A server serves until it is killed."""
    while line := sys.stdin.readline():
        job = json.loads(line)
        seed = bytes.fromhex(job["seed"])
        key = Ed25519PrivateKey.from_private_bytes(seed)
        own = base64.b64encode(raw(key)).decode()
        {"call": call, "cancel": cancel, "serve": serve}[job["do"]](job, key, own, x_private(seed))
        say("done")


main()
