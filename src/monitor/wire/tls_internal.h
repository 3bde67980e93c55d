/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the TLS module share: rules for certificates, reading files, passphrases. */
#ifndef MON_WIRE_TLS_INTERNAL_H
#define MON_WIRE_TLS_INTERNAL_H

#include "monitor/wire/tls.h"

#include <openssl/x509.h>

#define MON_PASSPHRASE_MAX_B 255

/* Writes the sentence that a caller shows; cut at the end of the buffer. */
void mon__tls_why(char why[MON_TLS_WHY_B], const char *format, ...) MS_PRINTF(2, 3);

/* Whose certificate a rule looks at. */
enum mon_cert_role {
    MON_CERT_SERVER = 1,    /* the daemon's own */
    MON_CERT_CLIENT = 2,    /* the command line's own */
    MON_CERT_CA_SERVER = 4, /* the authority, as the daemon sees it */
    MON_CERT_CA_CLIENT = 8, /* the authority, as the command line sees it */
    MON_CERT_PEER = 16      /* what the other side shows in the handshake */
};

/* NULL: acceptable; otherwise a sentence in why (returned). */
const char *mon__cert_refused(X509 *cert, enum mon_cert_role role, char why[MON_TLS_WHY_B]);

/* Certificates of a PEM file, at least one. NULL and why. */
STACK_OF(X509) * mon__cert_load(const char *path, char why[MON_TLS_WHY_B]);
/* Revocation lists of a PEM file: signed by one of the authorities, valid today. NULL and why. */
STACK_OF(X509_CRL) * mon__crl_load(const char *path, STACK_OF(X509) * authorities, char why[MON_TLS_WHY_B]);

/* A whole file of at most 1 MiB into a buffer that the caller frees with OPENSSL_clear_free(*out, *length_b + 1).
 * secret: others must have no access to it. 0 or -errno and why. */
int mon__tls_read(const char *path, bool secret, char **out, size_t *length_b, char why[MON_TLS_WHY_B]);

struct mon_passphrase {
    char text[MON_PASSPHRASE_MAX_B + 1];
    bool known;
};

/* Makes sure that the passphrase for `file` is known: from a file, the environment or the terminal, in this order.
 * File and environment are read anew each time, what was typed is kept. 0 or -errno and why. */
int mon__passphrase_get(struct mon_passphrase *passphrase, const struct mon_tls_options *options, const char *file,
                        char why[MON_TLS_WHY_B]);

#endif
