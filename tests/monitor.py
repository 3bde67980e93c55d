# SPDX-License-Identifier: Apache-2.0
"""Daemons, command lines, clients and certificates for tests of dynolog and dyno.

Everything stays on loopback and in the directory of the test. The peers of the two existing families are written from the
published bytes and do not use our own code, so that our mistakes do not cancel out.
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import socketserver
import ssl
import struct
import subprocess
import threading

import conftest
from recorder import wait_until

DYNOLOG = conftest.BUILD / "src/cli/dynolog/dynolog"


def receive(sock, length):
    data = b""
    while len(data) < length:
        part = sock.recv(length - len(data))
        if not part:
            raise EOFError(f"{len(data)} of {length} bytes")
        data += part
    return data


def call(sock, body):
    """One request on an open connection: bytes in, bytes out."""
    sock.sendall(struct.pack("=i", len(body)) + body)
    return receive(sock, struct.unpack("=i", receive(sock, 4))[0])


class Daemon:
    """A dynolog with a free port, and private sockets and log."""

    def __init__(self, folder, *flags, env=None, program=None, stdin=subprocess.DEVNULL, **popen):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log_path = self.folder / "dynolog.log"
        self.name = f"dynolog-{os.getpid()}-{os.urandom(4).hex()}"
        chosen = {flag.lstrip("-").split("=")[0].replace("-", "_") for flag in map(str, flags)}
        defaults = {"port": "0", "ipc_name": self.name, "ipc_home_dir": self.folder, "log_file": self.log_path,
                    "state_file": ""}
        self.command = [str(program or DYNOLOG)]
        self.command += [f"--{name}={value}" for name, value in defaults.items() if name not in chosen]
        self.command += map(str, flags)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("SOFTNPU_", "OTEL_", "KINETO_"))}
        self.process = subprocess.Popen(self.command, env=inherited | (env or {}), stdin=stdin,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen)

    def ready(self):
        wait_until(lambda: "] ready" in self.log() or self.process.poll() is not None)
        assert self.process.poll() is None, self.process.stderr.read().decode() + self.log()
        return self

    def log(self):
        return self.log_path.read_text() if self.log_path.exists() else ""

    @property
    def port(self):
        line = next(line for line in self.log().splitlines() if "RPC: listening on" in line)
        return int(line.split(" port ")[1].split(",")[0])

    def connect(self, host="127.0.0.1", timeout=20):
        return socket.create_connection((host, self.port), timeout=timeout)

    def rpc(self, **request):
        with self.connect() as sock:
            return json.loads(call(sock, json.dumps(request).encode()))

    def failed(self, seconds=20):
        """Waits for a start that fails; returns its output."""
        assert self.process.wait(seconds) != 0
        return self.process.stderr.read().decode() + self.log()

    def stop(self, seconds=20):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
                raise
        self.process.stdout.close()
        if not self.process.stderr.closed:
            output = self.process.stderr.read().decode(errors="replace")
            self.process.stderr.close()
            assert "Sanitizer" not in output and "runtime error" not in output, output
        return self.process.returncode


def dyno_command(*arguments, port=None):
    return [str(conftest.BUILD / "src/cli/dyno/dyno")] + (["--port", str(port)] if port else []) + [str(a) for a in arguments]


def dyno(*arguments, port=None, env=None, timeout=60, **extra):
    return subprocess.run(dyno_command(*arguments, port=port), env=os.environ | (env or {}), capture_output=True, text=True,
                          timeout=timeout, **extra)


def dyno_start(*arguments, port=None):
    return subprocess.Popen(dyno_command(*arguments, port=port), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class NpuClient:
    """The messages of the plugin of version 26.0: registration, polls, states with steps."""

    def __init__(self, daemon, pid=None, job=0, rank=0):
        self.pid = pid or os.getpid()
        self.job, self.rank = job, rank
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(f"\0dynoconfigclient{os.urandom(8).hex()}\0")
        self.sock.settimeout(1)
        self.address = self.socket_of(daemon)

    def socket_of(self, daemon):
        return str(daemon.folder / "dynolog.sock")

    def send(self, kind, payload, address=None):
        self.sock.sendto(struct.pack("=Q32s", len(payload), kind) + payload, address or self.address)

    def reply(self):
        data = self.sock.recv(1 << 17)
        return data[40:40 + struct.unpack("=Q", data[:8])[0]]

    def register(self):
        """These clients do not read a reply to this message, and get none."""
        self.send(b"ctxt", struct.pack("=iiq", self.rank, self.pid, self.job))

    def request(self, mask):
        self.send(b"req", struct.pack("=iiqi", mask, 1, self.job, self.pid))

    def poll(self, mask=2):
        """The pending configuration, or "", also if the daemon does not reply because of its rate limit."""
        self.request(mask)
        try:
            return self.reply().decode()
        except TimeoutError:
            return ""

    def status(self, kind, state, current=-1, start=-1, stop=-1):
        self.send(kind, struct.pack("=iiiiiiq", state, current, start, stop, self.pid, 0, self.job))

    def idle(self):
        self.status(b"npuTraceStatus", 0)
        self.status(b"npuMonitorStatus", 0)

    def close(self):
        self.sock.close()


# ---- the other families ----


def old_cli(port, body, host="127.0.0.1", context=None):
    """A command line of either family: one connection, one request and its answer; like them, it does not wait for the close.
    Raises EOFError where they panic."""
    with socket.create_connection((host, port), timeout=20) as plain:
        sock = context.wrap_socket(plain, server_hostname=host) if context else plain
        answer = call(sock, body)
        return answer.decode()


def old_request(config, job=0, pids="0", limit=3):
    """The text that both Rust command lines send: pretty-printed, starting with a newline, and without escapes."""
    text = config.replace("\n", "\\n")
    return (f'\n{{\n    "fn": "setKinetOnDemandRequest",\n    "config": "{text}",\n    "job_id": {job},\n'
            f'    "pids": [{pids}],\n    "process_limit": {limit}\n}}').encode()


class OldDaemon:
    """A daemon of another family: one request per connection; closes without an answer if it does not know the
    function."""

    def __init__(self, answers, limit=8192):
        self.requests = []
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                try:
                    length = struct.unpack("=i", receive(self.request, 4))[0]
                    if not 0 < length < limit:
                        return
                    body = receive(self.request, length)
                except EOFError:
                    return
                outer.requests.append(body)
                answer = answers.get(json.loads(body)["fn"])
                if callable(answer):
                    answer = answer(json.loads(body))
                if answer is not None:
                    self.request.sendall(struct.pack("=i", len(answer)) + answer)

        self.server = socketserver.TCPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


# ---- certificates ----

CA_CONFIG = """
[ca]
default_ca = here
[here]
database = {folder}/index.txt
new_certs_dir = {folder}/issued
serial = {folder}/serial
crlnumber = {folder}/crlnumber
default_md = sha256
default_crl_days = 30
policy = anything
unique_subject = no
[anything]
commonName = supplied
[req]
distinguished_name = name
prompt = no
[name]
CN = unused
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
[plain_authority]
basicConstraints = critical,CA:TRUE
"""

LEAF = "basicConstraints=CA:FALSE\nkeyUsage=digitalSignature,keyEncipherment\n"
LOCAL = "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1\n"


def openssl(*arguments):
    result = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


class Authority:
    """A certificate authority created with openssl. Keys are slow to generate, so certificates of one size share a
    key."""

    def __init__(self, folder, name="Test CA", extensions="authority"):
        self.folder = pathlib.Path(folder)
        (self.folder / "issued").mkdir(parents=True)
        (self.folder / "index.txt").touch()
        (self.folder / "serial").write_text("1000\n")
        (self.folder / "crlnumber").write_text("01\n")
        self.config = self.folder / "ca.cnf"
        self.config.write_text(CA_CONFIG.format(folder=self.folder))
        self.key, self.cert = self.folder / "ca.key", self.folder / "ca.crt"
        openssl("req", "-x509", "-newkey", "rsa:3072", "-nodes", "-keyout", self.key, "-out", self.cert, "-days", "30",
                "-subj", f"/CN={name}", "-config", self.config, "-extensions", extensions)

    def new_key(self, bits=3072):
        key = self.folder / f"key{bits}.pem"
        if not key.exists():
            openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", f"rsa_keygen_bits:{bits}", "-out", key)
        return key

    def issue(self, name, start=None, end=None, bits=3072, extensions=LEAF + LOCAL, digest="sha256"):
        """(certificate, key) for a name; dates as YYYYMMDDHHMMSSZ."""
        key = self.new_key(bits)
        cert, request, text = (self.folder / f"{name}.{suffix}" for suffix in ("crt", "csr", "ext"))
        openssl("req", "-new", "-key", key, "-subj", f"/CN={name}", "-out", request, "-config", self.config)
        text.write_text(extensions)
        dates = (["-startdate", start] if start else []) + (["-enddate", end] if end else ["-days", "20"])
        openssl("ca", "-batch", "-notext", "-config", self.config, "-cert", self.cert, "-keyfile", self.key, "-in",
                request, "-out", cert, "-extfile", text, "-md", digest, *dates)
        return cert, key

    def revoke(self, cert):
        openssl("ca", "-config", self.config, "-cert", self.cert, "-keyfile", self.key, "-revoke", cert)

    def crl(self, *dates):
        out = self.folder / f"list-{os.urandom(4).hex()}.crl"
        openssl("ca", "-config", self.config, "-cert", self.cert, "-keyfile", self.key, "-gencrl", "-out", out, *dates)
        return out


def install_certs(folder, side, cert, key, ca, crl=None):
    """A certificate directory with the fixed names and the documented modes."""
    folder = pathlib.Path(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    files = {f"{side}.crt": cert, f"{side}.key": key, "ca.crt": ca, "ca.crl": crl}
    for name, source in files.items():
        target = folder / name
        target.unlink(missing_ok=True)
        if source is not None:
            shutil.copyfile(source, target)
            target.chmod(0o600)
    return folder


def client_context(ca, cert=None, key=None, lowest=None, highest=None, legacy=False):
    """A TLS client that does not use our code; it checks less, so that the daemon's checks are tested."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(ca)
    if legacy:
        context.set_ciphers("ALL:@SECLEVEL=0")
    if lowest:
        context.minimum_version = lowest
    if highest:
        context.maximum_version = highest
    if cert:
        context.load_cert_chain(cert, key)
    return context
