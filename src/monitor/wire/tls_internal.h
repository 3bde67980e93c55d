/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the TLS module: certificate rules, reading files, passphrases. */
#ifndef MON_WIRE_TLS_INTERNAL_H
#define MON_WIRE_TLS_INTERNAL_H

#include "monitor/wire/tls.h"

#include <openssl/x509.h>

#define MON_PASSPHRASE_MAX_B 255

/* Formats the reason that the caller shows; truncates it to the buffer. */
void mon__tls_why(char why[MON_TLS_WHY_B], const char *format, ...) MS_PRINTF(2, 3);

/* Whose certificate a rule applies to. */
enum mon_cert_role {
    MON_CERT_SERVER = 1,    /* the daemon's own */
    MON_CERT_CLIENT = 2,    /* dyno's own */
    MON_CERT_CA_SERVER = 4, /* the authority, as the daemon sees it */
    MON_CERT_CA_CLIENT = 8, /* the authority, as dyno sees it */
    MON_CERT_PEER = 16      /* the one that the peer presents in the handshake */
};

/* NULL if acceptable, otherwise why, with the reason. */
const char *mon__cert_refused(X509 *cert, enum mon_cert_role role, char why[MON_TLS_WHY_B]);

/* Loads the certificates of a PEM file, at least one. NULL with the reason in why. */
STACK_OF(X509) * mon__cert_load(const char *path, char why[MON_TLS_WHY_B]);
/* Loads the revocation lists of a PEM file: signed by one of the authorities and currently valid. NULL and why. */
STACK_OF(X509_CRL) * mon__crl_load(const char *path, STACK_OF(X509) * authorities, char why[MON_TLS_WHY_B]);

/* Reads a file of at most 1 MiB into a buffer that the caller frees with OPENSSL_clear_free(*out, *length_b + 1).
 * secret: refuse files that others can access. 0, or -errno with the reason in why. */
int mon__tls_read(const char *path, bool secret, char **out, size_t *length_b, char why[MON_TLS_WHY_B]);

struct mon_passphrase {
    char text[MON_PASSPHRASE_MAX_B + 1];
    bool known;
};

/* Gets the passphrase for `file` from a file, the environment or the terminal, in this order. File and environment are
 * read again on each call; a typed passphrase is kept. 0, or -errno with the reason in why. */
int mon__passphrase_get(struct mon_passphrase *passphrase, const struct mon_tls_options *options, const char *file,
                        char why[MON_TLS_WHY_B]);

#endif
