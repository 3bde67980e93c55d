/* SPDX-License-Identifier: Apache-2.0 */
/* Mutual TLS for the RPC. The files have fixed names in one directory and are checked before they are used.
 *
 *     daemon: server.crt server.key ca.crt [ca.crl]        command line: client.crt client.key ca.crt [ca.crl]
 *
 * TLS 1.2 and 1.3. Both sides must present a certificate that is signed by ca.crt and not listed in ca.crl. If a file
 * is unacceptable, opening fails, and reloading fails and changes nothing; the message names the file, the reason and
 * the remedy. docs/reference/dyno.md, section "Certificates", lists the rules. */
#ifndef MON_WIRE_TLS_H
#define MON_WIRE_TLS_H

#include "monitor/wire/say.h"

#include <stdbool.h>
#include <stddef.h>

#include <openssl/ssl.h>

#define MON_TLS_NO_CERTS "NO_CERTS" /* the directory name that disables TLS */
#define MON_TLS_WHY_B    512

enum mon_tls_side { MON_TLS_SERVER, MON_TLS_CLIENT };

struct mon_tls_options {
    enum mon_tls_side side;
    const char *dir;
    const char *passphrase_file; /* NULL or empty: none */
    const char *passphrase_env;  /* name of an environment variable, NULL: none */
    bool prompt;                 /* prompt on the terminal if neither is set */
    struct mon_say say;
};

struct mon_tls;

/* 0, or -errno with the reason in why. */
int mon_tls_open(const struct mon_tls_options *options, struct mon_tls **out, char why[MON_TLS_WHY_B]);
/* Rereads the directory: new connections use its current contents. On failure nothing changes. */
int mon_tls_reload(struct mon_tls *tls, char why[MON_TLS_WHY_B]);
void mon_tls_close(struct mon_tls *tls);

/* A connection. On the client, peer_host must match the server's subjectAltName. NULL: out of memory. */
SSL *mon_tls_connection(struct mon_tls *tls, const char *peer_host);

/* Explains why a handshake or read failed, from the connection's verification result and OpenSSL's error code (0:
 * none). */
void mon_tls_failure(const SSL *ssl, unsigned long code, char why[MON_TLS_WHY_B]);

/* When our own certificate expires (seconds since the epoch), for a metric and for warnings. */
long long mon_tls_expiry_s(const struct mon_tls *tls);

#endif
