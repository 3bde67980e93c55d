# SPDX-License-Identifier: Apache-2.0
"""Valid and invalid certificates of every kind, on both sides, created with openssl."""

import os
import pty
import signal
import socket
import ssl
import struct
import subprocess

import pytest
from monitor import (LEAF, LOCAL, Authority, Daemon, call, client_context, dyno, dyno_command, install_certs, old_cli, openssl)
from recorder import wait_until

PAST = {"start": "20200101000000Z", "end": "20200201000000Z"}
VERSION = b'{"fn":"getVersion"}'


class World:
    """Two authorities, and the certificates that tests need; created once, because keys are slow to generate."""

    def __init__(self, folder):
        self.folder = folder
        self.ca = Authority(folder / "ca")
        self.other = Authority(folder / "other", "Other CA")
        self.made = {}

    def issue(self, name, authority=None, **options):
        if name not in self.made:
            self.made[name] = (authority or self.ca).issue(name, **options)
        return self.made[name]

    def server(self, folder, name="server", ca=None, crl=None, key=None, **options):
        cert, own_key = self.issue(name, **options)
        return install_certs(folder, "server", cert, key or own_key, ca or self.ca.cert, crl)

    def client(self, folder, name="client", ca=None, crl=None, key=None, **options):
        cert, own_key = self.issue(name, **options)
        return install_certs(folder, "client", cert, key or own_key, ca or self.ca.cert, crl)


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def secure(world, dynolog, tmp_path):
    """A daemon with valid certificates."""
    return dynolog(f"--certs_dir={world.server(tmp_path / 'server')}", "--bind_address=127.0.0.1,::1")


def refused_start(dynolog, folder, *flags, **options):
    daemon = dynolog(f"--certs_dir={folder}", *flags, wait=False, **options)
    return daemon.failed()


# ---- valid certificates ----


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
def test_valid(world, secure, tmp_path, host):
    certs = world.client(tmp_path / "client")
    result = dyno("--certs-dir", certs, "--hostname", host, "version", port=secure.port)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()[os.getuid() == 0:]
    assert lines == ["Running in certificate mode", f"Loading CA cert from: {certs}/ca.crt", "Found Key Usage extension",
                     f"Loading client cert from: {certs}/client.crt", "Found Key Usage extension",
                     f"CRL file does not exist: {certs}/ca.crl", f"Loading client key from: {certs}/client.key",
                     '{"version":"0.3.2"}']


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_other_clients(world, secure, version):
    cert, key = world.issue("client")
    context = client_context(world.ca.cert, cert, key, version, version)
    assert old_cli(secure.port, VERSION, context=context) == '{"version":"0.3.2"}'


def test_many_requests_and_large_ones(world, secure):
    cert, key = world.issue("client")
    with secure.connect() as plain:
        with client_context(world.ca.cert, cert, key).wrap_socket(plain, server_hostname="127.0.0.1") as sock:
            for _ in range(20):
                assert call(sock, b'{"fn":"getVersion","keep":true' + b" " * 60000 + b"}") == b'{"version":"0.3.2"}'
            sock.sendall((struct.pack("=i", len(VERSION)) + VERSION) * 1000)
            for _ in range(1000):
                assert sock.read(4) and sock.read(19) == b'{"version":"0.3.2"}'


def test_valid_with_revocation_list(world, dynolog, tmp_path):
    crl = world.ca.crl()
    daemon = dynolog(f"--certs_dir={world.server(tmp_path / 'server', crl=crl)}")
    certs = world.client(tmp_path / "client", crl=crl)
    result = dyno("--certs-dir", certs, "version", port=daemon.port)
    assert result.returncode == 0 and f"Checking CRL file: {certs}/ca.crl" in result.stdout


def test_pkcs1_keys_work(world, dynolog, tmp_path):
    key = tmp_path / "pkcs1.key"
    openssl("rsa", "-in", world.issue("client")[1], "-traditional", "-out", key)
    daemon = dynolog(f"--certs_dir={world.server(tmp_path / 'server', key=key)}")
    assert dyno("--certs-dir", world.client(tmp_path / "client", key=key), "version", port=daemon.port).returncode == 0


# ---- the daemon refuses its own files ----


@pytest.mark.parametrize("name, options, reason", [
    ("expired", PAST, "expired on Feb  1 00:00:00 2020 GMT; renew it"),
    ("future", {"start": "20990101000000Z", "end": "20990201000000Z"}, "not valid before Jan  1"),
    ("weak", {"bits": 2048}, "its 2048-bit key is too short"),
    ("sha384", {"digest": "sha384"}, "sign it with RSA and SHA-256 or SHA-512"),
    ("authority", {"extensions": "basicConstraints=CA:TRUE\nkeyUsage=keyCertSign\n"}, "is a CA certificate"),
    ("no_usage", {"extensions": "basicConstraints=CA:FALSE\n" + LOCAL}, "has no keyUsage extension"),
])
def test_server_certificate_refused(world, dynolog, tmp_path, name, options, reason):
    output = refused_start(dynolog, world.server(tmp_path / "server", name, **options))
    assert f"{tmp_path}/server/server.crt is refused: " in output and reason in output


def test_server_wrong_key(world, dynolog, tmp_path):
    output = refused_start(dynolog, world.server(tmp_path / "server", key=world.other.new_key()))
    assert "server.key is not the private key of" in output


def test_server_revoked(world, dynolog, tmp_path):
    cert, _ = world.issue("gone_server")
    world.ca.revoke(cert)
    output = refused_start(dynolog, world.server(tmp_path / "server", "gone_server", crl=world.ca.crl()))
    assert "server.crt is listed as revoked" in output


@pytest.mark.parametrize("dates, reason", [
    (("-crl_lastupdate", "20200101000000Z", "-crl_nextupdate", "20200201000000Z"), "expired on Feb  1"),
    (("-crl_lastupdate", "20990101000000Z", "-crl_nextupdate", "20990201000000Z"), "not valid before"),
])
def test_revocation_list_out_of_date(world, dynolog, tmp_path, dates, reason):
    crl = world.ca.crl(*dates)
    assert reason in refused_start(dynolog, world.server(tmp_path / "server", crl=crl))
    result = dyno("--certs-dir", world.client(tmp_path / "client", crl=crl), "version")
    assert result.returncode == 101 and reason in result.stderr


def test_revocation_list_of_another_authority(world, dynolog, tmp_path):
    output = refused_start(dynolog, world.server(tmp_path / "server", crl=world.other.crl()))
    assert "is not signed by an authority in ca.crt" in output


@pytest.mark.parametrize("file, mode, reason", [("server.key", 0o644, "chmod 600"), ("server.key", 0o660, "chmod 600"),
                                                (".", 0o777, "chmod 700"), (".", 0o770, "chmod 700")])
def test_wrong_modes(world, dynolog, tmp_path, file, mode, reason):
    certs = world.server(tmp_path / "server")
    (certs / file).chmod(mode)
    assert f"mode {mode:04o}" in (output := refused_start(dynolog, certs)) and reason in output
    client = world.client(tmp_path / "client")
    (client / file.replace("server", "client")).chmod(mode)
    result = dyno("--certs-dir", client, "version")
    assert result.returncode == 101 and reason in result.stderr


@pytest.mark.parametrize("missing", ["server.crt", "server.key", "ca.crt"])
def test_missing_and_damaged_files(world, dynolog, tmp_path, missing):
    certs = world.server(tmp_path / "server")
    (certs / missing).write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    assert f"{certs}/{missing} contains no" in refused_start(dynolog, certs)
    (certs / missing).unlink()
    assert f"{certs}/{missing}: No such file or directory" in refused_start(dynolog, certs)


def test_no_directory(dynolog, tmp_path):
    assert "--certs-dir must be a valid directory!" in refused_start(dynolog, tmp_path / "nowhere")


# ---- dyno refuses its own files ----


@pytest.mark.parametrize("name, options, reason", [("expired", PAST, "expired on"), ("weak", {"bits": 2048}, "2048-bit"),
                                                   ("no_usage", {"extensions": LOCAL}, "keyUsage")])
def test_client_certificate_refused(world, tmp_path, name, options, reason):
    result = dyno("--certs-dir", world.client(tmp_path / "client", name, **options), "version")
    assert result.returncode == 101
    assert result.stderr.startswith("Couldn't connect to the server... ") and reason in result.stderr


def test_client_revoked_by_its_own_list(world, tmp_path):
    cert, _ = world.issue("gone_client")
    world.ca.revoke(cert)
    result = dyno("--certs-dir", world.client(tmp_path / "client", "gone_client", crl=world.ca.crl()), "version")
    assert result.returncode == 101 and "listed as revoked" in result.stderr


def test_authority_must_sign(tmp_path):
    """The command line has the same requirements for the authority as msMonitor's."""
    ca = Authority(tmp_path / "plain", extensions="plain_authority")
    cert, key = ca.issue("client")
    result = dyno("--certs-dir", install_certs(tmp_path / "client", "client", cert, key, ca.cert), "version")
    assert result.returncode == 101 and "keyCertSign and cRLSign" in result.stderr


# ---- the two refuse each other ----


def attempt(daemon, context):
    """A foreign client; returns whether it got an answer."""
    try:
        return old_cli(daemon.port, VERSION, context=context)
    except (ssl.SSLError, ConnectionError, EOFError):
        return None


def refusals(daemon):
    return [line for line in daemon.log().splitlines() if "refused: " in line]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("name, options, reason", [
    ("expired", PAST, "certificate has expired"),
    ("weak", {"bits": 2048}, "its 2048-bit key is too short"),
    ("stranger", {"authority": True}, "unable to get local issuer certificate"),
])
def test_peer_refused(world, secure, name, options, reason, version):
    if options.get("authority"):
        options = {"authority": world.other}
    cert, key = world.issue(name, **options)
    assert attempt(secure, client_context(world.ca.cert, cert, key, version, version)) is None
    wait_until(lambda: any(reason in line for line in refusals(secure)))
    good = client_context(world.ca.cert, *world.issue("client"))
    assert attempt(secure, good) == '{"version":"0.3.2"}'


def test_peer_without_certificate(world, secure):
    assert attempt(secure, client_context(world.ca.cert)) is None
    wait_until(lambda: any("the peer sent no certificate" in line for line in refusals(secure)))


def test_revoked_peer(world, dynolog, tmp_path):
    """The originals accept such a client."""
    cert, _ = world.issue("revoked")
    world.ca.revoke(cert)
    daemon = dynolog(f"--certs_dir={world.server(tmp_path / 'server', crl=world.ca.crl())}")
    result = dyno("--certs-dir", world.client(tmp_path / "client", "revoked"), "version", port=daemon.port)
    assert result.returncode == 101
    assert "our certificate is on the peer's revocation list" in result.stderr
    wait_until(lambda: any("certificate revoked" in line and "CN=revoked" in line for line in refusals(daemon)))
    assert dyno("--certs-dir", world.client(tmp_path / "good"), "version", port=daemon.port).returncode == 0


def test_old_protocols(world, secure):
    cert, key = world.issue("client")
    context = client_context(world.ca.cert, cert, key, ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1, legacy=True)
    assert attempt(secure, context) is None
    wait_until(lambda: any("older than 1.2" in line for line in refusals(secure)))


def test_wrong_authority_of_the_server(world, secure, tmp_path):
    certs = world.client(tmp_path / "client", ca=world.other.cert)
    result = dyno("--certs-dir", certs, "version", port=secure.port)
    assert result.returncode == 101 and "is refused: " in result.stderr


def test_wrong_name_of_the_server(world, dynolog, tmp_path):
    certs = world.server(tmp_path / "server", "elsewhere", extensions=LEAF + "subjectAltName=DNS:elsewhere\n")
    daemon = dynolog(f"--certs_dir={certs}")
    result = dyno("--certs-dir", world.client(tmp_path / "client"), "version", port=daemon.port)
    assert result.returncode == 101 and "hostname mismatch" in result.stderr.lower()


def test_plain_and_tls_do_not_mix(world, secure, dynolog, tmp_path):
    result = dyno("--timeout", "5", "version", port=secure.port)
    assert result.returncode == 1, result.stderr
    plain = dynolog()
    result = dyno("--certs-dir", world.client(tmp_path / "client"), "version", port=plain.port)
    assert result.returncode == 101
    wait_until(lambda: any("TLS handshake received on a port without certificates" in line for line in refusals(plain)))


def test_partial_handshake_does_not_block_others(world, secure):
    with secure.connect() as idle, secure.connect() as partial:
        partial.sendall(b"\x16\x03\x01\x02\x00\x01")
        assert attempt(secure, client_context(world.ca.cert, *world.issue("client"))) == '{"version":"0.3.2"}'
        idle.sendall(b"\0" * 200)
        assert idle.recv(100) == b""  # end of stream, not a reset


# ---- passphrases ----


@pytest.fixture
def encrypted(world, tmp_path):
    key = tmp_path / "encrypted.key"
    openssl("pkcs8", "-topk8", "-in", world.issue("server")[1], "-out", key, "-v2", "aes256", "-passout", "pass:secret word")
    return key


def passphrase_file(tmp_path, text="secret word\n"):
    path = tmp_path / "passphrase"
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_passphrase_from_file(world, dynolog, tmp_path, encrypted):
    path = passphrase_file(tmp_path)
    daemon = dynolog(f"--certs_dir={world.server(tmp_path / 'server', key=encrypted)}", f"--certs_passphrase_file={path}")
    certs = world.client(tmp_path / "client", key=encrypted)
    assert dyno("--certs-dir", certs, "--certs-passphrase-file", path, "version", port=daemon.port).returncode == 0
    path.chmod(0o644)
    result = dyno("--certs-dir", certs, "--certs-passphrase-file", path, "version", port=daemon.port)
    assert result.returncode == 101 and "chmod 600" in result.stderr


def test_passphrase_from_environment(world, dynolog, tmp_path, encrypted):
    daemon = dynolog(f"--certs_dir={world.server(tmp_path / 'server', key=encrypted)}",
                     env={"DYNOLOG_CERTS_PASSPHRASE": "secret word"})
    certs = world.client(tmp_path / "client", key=encrypted)
    assert dyno("--certs-dir", certs, "version", port=daemon.port, env={"DYNO_CERTS_PASSPHRASE": "secret word"}).returncode == 0
    result = dyno("--certs-dir", certs, "version", port=daemon.port, env={"DYNO_CERTS_PASSPHRASE": "wrong"})
    assert result.returncode == 101 and "wrong passphrase" in result.stderr


def test_passphrase_without_a_terminal(world, dynolog, tmp_path, encrypted):
    output = refused_start(dynolog, world.server(tmp_path / "server", key=encrypted))
    assert "--certs_passphrase_file" in output and "DYNOLOG_CERTS_PASSPHRASE" in output
    result = dyno("--certs-dir", world.client(tmp_path / "client", key=encrypted), "version", stdin=subprocess.DEVNULL)
    assert result.returncode == 101 and "--certs-passphrase-file" in result.stderr


def read_until(terminal, text):
    seen = b""
    while text not in seen:
        seen += os.read(terminal, 4096)
    return seen


def test_passphrase_from_terminal(world, tmp_path, encrypted):
    """The daemon echoes stars, the command line nothing; backspace works in both."""
    master, slave = pty.openpty()
    daemon = Daemon(tmp_path / "daemon", f"--certs_dir={world.server(tmp_path / 'server', key=encrypted)}", stdin=slave)
    try:
        shown = b""
        while b"password: " not in shown:
            shown += daemon.process.stdout.read1()
        assert shown == b"Please enter the certificate password: "
        os.write(master, b"secret worx\x7fd\n")
        daemon.ready()
        stars = b""
        while b"\n" not in stars:
            stars += daemon.process.stdout.read1()
        assert stars == b"*" * 11 + b"\b \b*\n"
        client = subprocess.Popen(dyno_command("--certs-dir", world.client(tmp_path / "client", key=encrypted), "version",
                                               port=daemon.port), stdin=slave, stdout=slave, stderr=slave)
        read_until(master, b"password: ")
        os.write(master, b"secret worx\x7fd\n")
        assert b"*" not in read_until(master, b'"0.3.2"}')
        assert client.wait(20) == 0
        client = subprocess.Popen(dyno_command("--certs-dir", tmp_path / "client", "version", port=daemon.port), stdin=slave,
                                  stdout=slave, stderr=slave)
        read_until(master, b"password: ")
        os.write(master, b"\x03")
        assert b"no passphrase was entered" in read_until(master, b"entered")
        assert client.wait(20) == 101
    finally:
        daemon.stop()
        os.close(master)
        os.close(slave)


# ---- reload ----


def reload(daemon):
    before = daemon.log().count("] reloaded")
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: daemon.log().count("] reloaded") > before)


def test_reload(world, dynolog, tmp_path):
    """A revocation list added later takes effect, and open connections stay open."""
    cert, key = world.issue("leaving")
    certs = world.server(tmp_path / "server")
    daemon = dynolog(f"--certs_dir={certs}", "--bind_address=127.0.0.1")
    context = client_context(world.ca.cert, cert, key)
    assert attempt(daemon, context)
    with daemon.connect() as plain, context.wrap_socket(plain, server_hostname="127.0.0.1") as kept:
        assert call(kept, b'{"fn":"getVersion","keep":true}')
        world.ca.revoke(cert)
        world.server(certs, crl=world.ca.crl())
        reload(daemon)
        assert call(kept, VERSION) == b'{"version":"0.3.2"}'
    assert attempt(daemon, context) is None
    assert "certificates reloaded" in daemon.log()


def test_failed_reload_changes_nothing(world, dynolog, tmp_path):
    certs = world.server(tmp_path / "server")
    daemon = dynolog(f"--certs_dir={certs}", "--bind_address=127.0.0.1")
    world.server(certs, "expired", **PAST)
    reload(daemon)
    assert "the old ones stay in use" in daemon.log()
    assert attempt(daemon, client_context(world.ca.cert, *world.issue("client")))


# ---- listening addresses ----


def addresses(daemon):
    return {line.split("RPC: listening on ")[1].split(" port")[0] for line in daemon.log().splitlines() if "RPC: listening on" in line}


def test_loopback_without_certificates(dynolog):
    daemon = dynolog()
    assert addresses(daemon) <= {"127.0.0.1", "::1"} and "127.0.0.1" in addresses(daemon)
    assert "--certs_dir=DIR" in daemon.log() and "--bind_address=ADDRESS" in daemon.log()


def test_everywhere_with_certificates(world, dynolog, tmp_path):
    daemon = dynolog(f"--certs_dir={world.server(tmp_path / 'server')}")
    assert addresses(daemon) & {"::", "0.0.0.0"}
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=10):
        pass


def test_chosen_address(dynolog):
    daemon = dynolog("--bind_address=127.0.0.2,127.0.0.3")
    assert addresses(daemon) == {"127.0.0.2", "127.0.0.3"}
    assert dyno("--hosts", "127.0.0.[2-3]", "status", port=daemon.port).returncode == 0
    assert dyno("--hostname", "127.0.0.1", "status", port=daemon.port).returncode == 101


def test_port_in_use_fails(dynolog):
    first = dynolog("--bind_address=127.0.0.1")
    second = dynolog("--bind_address=127.0.0.1", f"--port={first.port}", wait=False)
    assert "Address already in use (--port, --bind_address)" in second.failed()
