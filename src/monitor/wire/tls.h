/* Mutual TLS for the RPC: one directory with fixed file names, checked with readable reasons before it is used.
 *
 *     daemon: server.crt server.key ca.crt [ca.crl]        command line: client.crt client.key ca.crt [ca.crl]
 *
 * TLS 1.2 and 1.3. Both sides must show a certificate that ca.crt vouches for and ca.crl does not list. A file that is
 * not acceptable makes opening (or reloading, which then changes nothing) fail with a sentence that names the file, the
 * reason and the remedy. docs/dyno.md, section "Certificates", lists the rules. */
#ifndef MS_WIRE_TLS_H
#define MS_WIRE_TLS_H

#include "monitor/wire/say.h"

#include <stdbool.h>
#include <stddef.h>

#include <openssl/ssl.h>

#define MS_TLS_NO_CERTS "NO_CERTS" /* the directory that means: no TLS */
#define MS_TLS_WHY_B    512

enum ms_tls_side { MS_TLS_SERVER, MS_TLS_CLIENT };

struct ms_tls_options {
    enum ms_tls_side side;
    const char *dir;
    const char *passphrase_file; /* NULL or empty: none */
    const char *passphrase_env;  /* name of an environment variable, NULL: none */
    bool prompt;                 /* ask on the terminal if neither is there */
    struct ms_say say;
};

struct ms_tls;

/* 0 or -errno and why. */
int ms_tls_open(const struct ms_tls_options *options, struct ms_tls **out, char why[MS_TLS_WHY_B]);
/* Reads the directory again: new connections use what is there now. On failure everything stays as it was. */
int ms_tls_reload(struct ms_tls *tls, char why[MS_TLS_WHY_B]);
void ms_tls_close(struct ms_tls *tls);

/* A connection; the client names the host, which the server's subjectAltName must carry. NULL: no memory. */
SSL *ms_tls_connection(struct ms_tls *tls, const char *peer_host);

/* Why a handshake or a read failed, from the connection's verification and the error code of OpenSSL (0: none). */
void ms_tls_failure(const SSL *ssl, unsigned long code, char why[MS_TLS_WHY_B]);

/* When the side's own certificate ends (seconds since the epoch), for a metric and for warnings. */
long long ms_tls_expiry_s(const struct ms_tls *tls);

#endif
