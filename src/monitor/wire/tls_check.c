/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for certificates and revocation lists, see tls_internal.h: one table, each rule with the roles it applies to.
 * No state; every refusal is one sentence. */
#include "monitor/wire/tls_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#define FILE_MAX_B        (1u << 20)
#define STRENGTH_MIN_BITS 128 /* RSA 3072, P-256 */
#define OWN               (MON_CERT_SERVER | MON_CERT_CLIENT)
#define ANY_CA            (MON_CERT_CA_SERVER | MON_CERT_CA_CLIENT)

void mon__tls_why(char why[MON_TLS_WHY_B], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, MON_TLS_WHY_B, format, args);
    va_end(args);
}

static void show_time(const ASN1_TIME *time, char out[64])
{
    BIO *bio = BIO_new(BIO_s_mem());
    int n = -1;
    if (bio != NULL && ASN1_TIME_print(bio, time) == 1) {
        n = BIO_read(bio, out, 63);
    }
    out[n > 0 ? n : 0] = '\0';
    BIO_free(bio);
}

static bool version_wrong(X509 *cert, char *why)
{
    mon__tls_why(why, "it is X.509 version %ld, not 3; add extensions when signing it", X509_get_version(cert) + 1);
    return X509_get_version(cert) != X509_VERSION_3;
}

static bool signature_not_documented(X509 *cert, char *why)
{
    int nid = X509_get_signature_nid(cert);
    mon__tls_why(why, "it is signed with %s; sign it with RSA and SHA-256 or SHA-512", OBJ_nid2ln(nid));
    return nid != NID_sha256WithRSAEncryption && nid != NID_sha512WithRSAEncryption;
}

static bool signature_weak(X509 *cert, char *why)
{
    int nid = X509_get_signature_nid(cert);
    mon__tls_why(why, "it is signed with %s, which is broken; sign it with SHA-256 or better", OBJ_nid2ln(nid));
    return nid == NID_md2WithRSAEncryption || nid == NID_md5WithRSAEncryption || nid == NID_sha1WithRSAEncryption ||
           nid == NID_ecdsa_with_SHA1;
}

static bool key_weak(X509 *cert, char *why)
{
    EVP_PKEY *key = X509_get0_pubkey(cert);
    int bits = key != NULL ? EVP_PKEY_get_bits(key) : 0;
    mon__tls_why(why, "its %d-bit key is too short; create an RSA key of at least 3072 bits", bits);
    return key == NULL || EVP_PKEY_get_security_bits(key) < STRENGTH_MIN_BITS;
}

static bool not_yet(X509 *cert, char *why)
{
    char when[64];
    show_time(X509_get0_notBefore(cert), when);
    mon__tls_why(why, "it is not valid before %s; check the clock", when);
    return X509_cmp_current_time(X509_get0_notBefore(cert)) >= 0;
}

static bool expired(X509 *cert, char *why)
{
    char when[64];
    show_time(X509_get0_notAfter(cert), when);
    mon__tls_why(why, "it expired on %s; renew it", when);
    return X509_cmp_current_time(X509_get0_notAfter(cert)) <= 0;
}

static bool is_authority(X509 *cert, char *why)
{
    mon__tls_why(why, "it is a CA certificate (basicConstraints CA:TRUE); create a certificate for a host");
    return (X509_get_extension_flags(cert) & EXFLAG_CA) != 0 && (X509_get_extension_flags(cert) & EXFLAG_BCONS) != 0;
}

static bool not_authority(X509 *cert, char *why)
{
    mon__tls_why(why, "it is not a CA certificate: basicConstraints must be CA:TRUE");
    return (X509_get_extension_flags(cert) & EXFLAG_BCONS) == 0 || (X509_get_extension_flags(cert) & EXFLAG_CA) == 0;
}

static bool usage_missing(X509 *cert, char *why)
{
    mon__tls_why(why, "it has no keyUsage extension");
    return (X509_get_extension_flags(cert) & EXFLAG_KUSAGE) == 0;
}

static bool usage_not_signing(X509 *cert, char *why)
{
    uint32_t need = KU_KEY_CERT_SIGN | KU_CRL_SIGN;
    mon__tls_why(why, "its keyUsage must include keyCertSign and cRLSign");
    return (X509_get_extension_flags(cert) & EXFLAG_KUSAGE) == 0 || (X509_get_key_usage(cert) & need) != need;
}

/* In the order in which they are applied. Validity is compared in UTC. */
static const struct {
    unsigned roles;
    bool (*broken)(X509 *cert, char *why); /* always fills why */
} rules[] = {
    {OWN | ANY_CA | MON_CERT_PEER, version_wrong},
    {MON_CERT_SERVER, signature_not_documented},
    {MON_CERT_CLIENT | ANY_CA | MON_CERT_PEER, signature_weak},
    {OWN | MON_CERT_PEER, key_weak},
    {OWN | ANY_CA, not_yet},
    {OWN | ANY_CA, expired},
    {OWN, is_authority},
    {ANY_CA, not_authority},
    {OWN, usage_missing},
    {MON_CERT_CA_CLIENT, usage_not_signing},
};

const char *mon__cert_refused(X509 *cert, enum mon_cert_role role, char why[MON_TLS_WHY_B])
{
    X509_check_purpose(cert, -1, 0); /* decodes the extensions that the flags describe */
    for (size_t i = 0; i < MS_COUNT_OF(rules); i++) {
        if ((rules[i].roles & role) != 0 && rules[i].broken(cert, why)) {
            return why;
        }
    }
    return NULL;
}

/* A private key or passphrase must not be accessible to others. Its group may read it, so that a daemon can run as its
 * own user. */
static int secret_modes(const char *path, const struct stat *st, char *why)
{
    unsigned loose = st->st_mode & (S_IRWXO | S_IWGRP | S_IXGRP);
    if (loose == 0) {
        return 0;
    }
    mon__tls_why(why, "%s has mode %04o: others have access to it; run chmod 600", path,
                 (unsigned)(st->st_mode & 07777));
    return -EPERM;
}

int mon__tls_read(const char *path, bool secret, char **out, size_t *length_b, char why[MON_TLS_WHY_B])
{
    struct stat st;
    char *text = NULL;
    int rc;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* O_NONBLOCK: a FIFO would block the daemon */
    if (fd < 0 || fstat(fd, &st) != 0) {
        rc = -errno;
        mon__tls_why(why, "%s: %s", path, strerror(-rc));
        goto out;
    }
    if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX_B) {
        rc = -EINVAL;
        mon__tls_why(why, "%s is not a regular file of at most %u bytes", path, FILE_MAX_B);
        goto out;
    }
    rc = secret ? secret_modes(path, &st, why) : 0;
    if (rc != 0) {
        goto out;
    }
    text = OPENSSL_malloc((size_t)st.st_size + 1);
    if (text == NULL) {
        rc = -ENOMEM;
        mon__tls_why(why, "%s: out of memory", path);
        goto out;
    }
    ssize_t n = read(fd, text, (size_t)st.st_size);
    if (n < 0) {
        rc = -errno;
        mon__tls_why(why, "%s: %s", path, strerror(-rc));
        OPENSSL_free(text);
        goto out;
    }
    text[n] = '\0';
    *out = text;
    *length_b = (size_t)n;
out:
    if (fd >= 0) {
        close(fd);
    }
    return rc;
}

static BIO *open_pem(const char *path, char **text, size_t *length, char *why)
{
    if (mon__tls_read(path, false, text, length, why) != 0) {
        return NULL;
    }
    BIO *bio = BIO_new_mem_buf(*text, (int)*length);
    if (bio == NULL) {
        OPENSSL_free(*text);
        mon__tls_why(why, "%s: out of memory", path);
    }
    return bio;
}

/* A loop over PEM objects ends with "no start line" at the end of the file, and with another error in a damaged
 * object. */
static bool reached_end(void)
{
    unsigned long code = ERR_peek_last_error();
    bool well = ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
    ERR_clear_error();
    return well;
}

STACK_OF(X509) * mon__cert_load(const char *path, char why[MON_TLS_WHY_B])
{
    char *text = NULL;
    size_t length = 0;
    BIO *bio = open_pem(path, &text, &length, why);
    if (bio == NULL) {
        return NULL;
    }
    STACK_OF(X509) *all = sk_X509_new_null();
    X509 *cert;
    ERR_clear_error();
    while (all != NULL && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        sk_X509_push(all, cert);
    }
    BIO_free(bio);
    OPENSSL_free(text);
    if (!reached_end() || sk_X509_num(all) <= 0) {
        mon__tls_why(why, "%s contains no readable PEM certificate", path);
        sk_X509_pop_free(all, X509_free);
        return NULL;
    }
    return all;
}

static bool signed_by_any(X509_CRL *crl, STACK_OF(X509) * authorities)
{
    for (int i = 0; i < sk_X509_num(authorities); i++) {
        X509 *ca = sk_X509_value(authorities, i);
        if (X509_NAME_cmp(X509_CRL_get_issuer(crl), X509_get_subject_name(ca)) == 0 &&
            X509_CRL_verify(crl, X509_get0_pubkey(ca)) == 1) {
            return true;
        }
    }
    ERR_clear_error();
    return false;
}

static bool crl_refused(const char *path, X509_CRL *crl, STACK_OF(X509) * authorities, char *why)
{
    char when[64];
    const ASN1_TIME *next = X509_CRL_get0_nextUpdate(crl);
    if (!signed_by_any(crl, authorities)) {
        mon__tls_why(why, "%s is not signed by an authority in ca.crt", path);
        return true;
    }
    if (X509_cmp_current_time(X509_CRL_get0_lastUpdate(crl)) >= 0) {
        show_time(X509_CRL_get0_lastUpdate(crl), when);
        mon__tls_why(why, "%s is not valid before %s; check the clock", path, when);
        return true;
    }
    if (next != NULL && X509_cmp_current_time(next) <= 0) {
        show_time(next, when);
        mon__tls_why(why, "%s expired on %s; fetch a new revocation list", path, when);
        return true;
    }
    return false;
}

STACK_OF(X509_CRL) * mon__crl_load(const char *path, STACK_OF(X509) * authorities, char why[MON_TLS_WHY_B])
{
    char *text = NULL;
    size_t length = 0;
    BIO *bio = open_pem(path, &text, &length, why);
    if (bio == NULL) {
        return NULL;
    }
    STACK_OF(X509_CRL) *all = sk_X509_CRL_new_null();
    X509_CRL *crl;
    bool refused = false;
    ERR_clear_error();
    while (all != NULL && !refused && (crl = PEM_read_bio_X509_CRL(bio, NULL, NULL, NULL)) != NULL) {
        sk_X509_CRL_push(all, crl);
        refused = crl_refused(path, crl, authorities, why);
    }
    BIO_free(bio);
    OPENSSL_free(text);
    if (!refused && (!reached_end() || sk_X509_CRL_num(all) <= 0)) {
        mon__tls_why(why, "%s contains no readable PEM revocation list", path);
        refused = true;
    }
    if (refused) {
        sk_X509_CRL_pop_free(all, X509_CRL_free);
        return NULL;
    }
    return all;
}
