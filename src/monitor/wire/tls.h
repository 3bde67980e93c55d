/* SPDX-License-Identifier: Apache-2.0 */
/* Mutual TLS for the RPC: one directory with fixed file names, checked with readable reasons before it is used.
 *
 *     daemon: server.crt server.key ca.crt [ca.crl]        command line: client.crt client.key ca.crt [ca.crl]
 *
 * TLS 1.2 and 1.3. Both sides must show a certificate that ca.crt vouches for and ca.crl does not list. A file that is
 * not acceptable makes opening (or reloading, which then changes nothing) fail with a sentence that names the file, the
 * reason and the remedy. docs/reference/dyno.md, section "Certificates", lists the rules. */
#ifndef MON_WIRE_TLS_H
#define MON_WIRE_TLS_H

#include "monitor/wire/say.h"

#include <stdbool.h>
#include <stddef.h>

#include <openssl/ssl.h>

#define MON_TLS_NO_CERTS "NO_CERTS" /* the directory that means: no TLS */
#define MON_TLS_WHY_B    512

enum mon_tls_side { MON_TLS_SERVER, MON_TLS_CLIENT };

struct mon_tls_options {
    enum mon_tls_side side;
    const char *dir;
    const char *passphrase_file; /* NULL or empty: none */
    const char *passphrase_env;  /* name of an environment variable, NULL: none */
    bool prompt;                 /* ask on the terminal if neither is there */
    struct mon_say say;
};

struct mon_tls;

/* 0 or -errno and why. */
int mon_tls_open(const struct mon_tls_options *options, struct mon_tls **out, char why[MON_TLS_WHY_B]);
/* Reads the directory again: new connections use what is there now. On failure everything stays as it was. */
int mon_tls_reload(struct mon_tls *tls, char why[MON_TLS_WHY_B]);
void mon_tls_close(struct mon_tls *tls);

/* A connection; the client names the host, which the server's subjectAltName must carry. NULL: no memory. */
SSL *mon_tls_connection(struct mon_tls *tls, const char *peer_host);

/* Why a handshake or a read failed, from the connection's verification and the error code of OpenSSL (0: none). */
void mon_tls_failure(const SSL *ssl, unsigned long code, char why[MON_TLS_WHY_B]);

/* When the side's own certificate ends (seconds since the epoch), for a metric and for warnings. */
long long mon_tls_expiry_s(const struct mon_tls *tls);

#endif
