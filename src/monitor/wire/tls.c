/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts for mutual TLS, see tls.h.
 *
 * A new context is built separately and swapped in once every check has passed. Connections hold a reference to the
 * context they were created from, so a reload does not affect them. Sessions are not resumed: a revoked certificate
 * must not be accepted again through an old ticket. One thread opens and reloads; mon_tls_connection only reads and may
 * be called by several threads (dyno's fan-out). */
#include "monitor/wire/tls_internal.h"
#include "monitor/wire/paths.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

struct mon_tls {
    struct mon_tls_options options; /* the strings are our copies */
    struct mon_passphrase passphrase;
    SSL_CTX *context;
    long long expiry_s;
};

/* File names and certificate roles of the two sides. */
static const struct side_files {
    const char *cert, *key, *word;
    enum mon_cert_role own, ca;
} sides[] = {
    [MON_TLS_SERVER] = {"server.crt", "server.key", "server", MON_CERT_SERVER, MON_CERT_CA_SERVER},
    [MON_TLS_CLIENT] = {"client.crt", "client.key", "client", MON_CERT_CLIENT, MON_CERT_CA_CLIENT},
};

/* The suites of msMonitor's command line (rustls). */
#define SUITES_TLS12 "ECDHE+AESGCM:ECDHE+CHACHA20"

static int join(char out[MON_PATH_MAX_B + 32], const char *dir, const char *name)
{
    return snprintf(out, MON_PATH_MAX_B + 32, "%s/%s", dir, name);
}

/* Loads the certificates of a file; all must satisfy the rules of their role. */
static STACK_OF(X509) * load_checked(const struct mon_tls *tls, const char *path, enum mon_cert_role first,
                                     enum mon_cert_role rest, char *why)
{
    STACK_OF(X509) *all = mon__cert_load(path, why);
    for (int i = 0; i < sk_X509_num(all); i++) {
        X509 *cert = sk_X509_value(all, i);
        char reason[MON_TLS_WHY_B];
        if (mon__cert_refused(cert, i == 0 ? first : rest, reason) != NULL) {
            mon__tls_why(why, "%s is refused: %.400s", path, reason);
            sk_X509_pop_free(all, X509_free);
            return NULL;
        }
        if ((X509_get_extension_flags(cert) & EXFLAG_KUSAGE) != 0) {
            mon_say(&tls->options.say, MON_SAY_NOTE, "Found Key Usage extension");
        }
    }
    return all;
}

/* Stored in the connection, because OpenSSL drops the certificate when the handshake fails. */
static int refusal_index;
static pthread_once_t refusal_once = PTHREAD_ONCE_INIT;

static void free_refusal(void *parent, void *text, CRYPTO_EX_DATA *data, int index, long argl, void *argp)
{
    free(text);
}

static void make_refusal_index(void)
{
    refusal_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, free_refusal);
}

static void remember_refusal(X509_STORE_CTX *store, const char *reason)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    X509 *cert = X509_STORE_CTX_get_current_cert(store);
    char subject[200] = "?", *text = malloc(MON_TLS_WHY_B);
    if (ssl == NULL || text == NULL || SSL_get_ex_data(ssl, refusal_index) != NULL) {
        free(text);
        return;
    }
    if (cert != NULL) {
        X509_NAME_oneline(X509_get_subject_name(cert), subject, sizeof(subject));
    }
    mon__tls_why(text, "the certificate %s is refused: %s", subject, reason);
    SSL_set_ex_data(ssl, refusal_index, text);
}

/* Applies our own rules to the peer, in addition to OpenSSL's verification. */
static int verify_peer(int ok, X509_STORE_CTX *store)
{
    char why[MON_TLS_WHY_B];
    if (ok != 1) {
        remember_refusal(store, X509_verify_cert_error_string(X509_STORE_CTX_get_error(store)));
        return 0;
    }
    if (X509_STORE_CTX_get_error_depth(store) == 0 &&
        mon__cert_refused(X509_STORE_CTX_get_current_cert(store), MON_CERT_PEER, why) != NULL) {
        remember_refusal(store, why);
        X509_STORE_CTX_set_error(store, X509_V_ERR_EE_KEY_TOO_SMALL);
        return 0;
    }
    return 1;
}

static int use_authorities(struct mon_tls *tls, SSL_CTX *context, const char *path, STACK_OF(X509) * *out, char *why)
{
    const struct side_files *side = &sides[tls->options.side];
    mon_say(&tls->options.say, MON_SAY_NOTE, "Loading CA cert from: %s", path);
    STACK_OF(X509) *all = load_checked(tls, path, side->ca, side->ca, why);
    if (all == NULL) {
        return -EKEYREJECTED;
    }
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    for (int i = 0; i < sk_X509_num(all); i++) {
        X509_STORE_add_cert(store, sk_X509_value(all, i));
        SSL_CTX_add_client_CA(context, sk_X509_value(all, i));
    }
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN); /* a ca.crt that is not self-signed is trusted too */
    *out = all;
    return 0;
}

static int use_own(struct mon_tls *tls, SSL_CTX *context, const char *path, X509 **out, char *why)
{
    const struct side_files *side = &sides[tls->options.side];
    mon_say(&tls->options.say, MON_SAY_NOTE, "Loading %s cert from: %s", side->word, path);
    /* The remaining certificates are the chain to the authority. */
    STACK_OF(X509) *all = load_checked(tls, path, side->own, MON_CERT_CA_SERVER, why);
    if (all == NULL) {
        return -EKEYREJECTED;
    }
    X509 *own = sk_X509_value(all, 0);
    if (SSL_CTX_use_certificate(context, own) != 1) {
        mon__tls_why(why, "%s cannot be used: %s", path, ERR_reason_error_string(ERR_peek_last_error()));
        sk_X509_pop_free(all, X509_free);
        return -EKEYREJECTED;
    }
    for (int i = 1; i < sk_X509_num(all); i++) {
        SSL_CTX_add1_chain_cert(context, sk_X509_value(all, i));
    }
    X509_up_ref(own);
    *out = own;
    sk_X509_pop_free(all, X509_free);
    return 0;
}

static int use_revocations(struct mon_tls *tls, SSL_CTX *context, const char *path, STACK_OF(X509) * authorities,
                           X509 *own, char *why)
{
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        mon_say(&tls->options.say, MON_SAY_NOTE, "CRL file does not exist: %s", path);
        return 0;
    }
    mon_say(&tls->options.say, MON_SAY_NOTE, "Checking CRL file: %s", path);
    STACK_OF(X509_CRL) *all = mon__crl_load(path, authorities, why);
    if (all == NULL) {
        return -EKEYREJECTED;
    }
    int rc = 0;
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    for (int i = 0; i < sk_X509_CRL_num(all); i++) {
        X509_CRL *crl = sk_X509_CRL_value(all, i);
        X509_REVOKED *entry;
        X509_STORE_add_crl(store, crl);
        if (X509_CRL_get0_by_cert(crl, &entry, own) == 1) {
            mon__tls_why(why, "%s/%s is listed as revoked in %s; get a new certificate", tls->options.dir,
                         sides[tls->options.side].cert, path);
            rc = -EKEYREVOKED;
        }
    }
    X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
    sk_X509_CRL_pop_free(all, X509_CRL_free);
    return rc;
}

static int copy_passphrase(char *out, int size, int writing, void *context)
{
    const struct mon_passphrase *passphrase = context;
    (void)writing;
    if (passphrase == NULL || !passphrase->known) {
        return -1;
    }
    int length = (int)strlen(passphrase->text);
    if (length > size) {
        return -1;
    }
    memcpy(out, passphrase->text, (size_t)length);
    return length;
}

static int use_key(struct mon_tls *tls, SSL_CTX *context, const char *path, char *why)
{
    const struct side_files *side = &sides[tls->options.side];
    char *text;
    size_t length;
    mon_say(&tls->options.say, MON_SAY_NOTE, "Loading %s key from: %s", side->word, path);
    int rc = mon__tls_read(path, true, &text, &length, why);
    if (rc != 0) {
        return rc;
    }
    bool encrypted = strstr(text, "ENCRYPTED") != NULL;
    if (encrypted) {
        rc = mon__passphrase_get(&tls->passphrase, &tls->options, path, why);
    }
    EVP_PKEY *key = NULL;
    if (rc == 0) {
        BIO *bio = BIO_new_mem_buf(text, (int)length);
        key = PEM_read_bio_PrivateKey(bio, NULL, copy_passphrase, encrypted ? &tls->passphrase : NULL);
        BIO_free(bio);
        if (key == NULL) {
            mon__tls_why(why, encrypted ? "%s: wrong passphrase" : "%s contains no private key", path);
            tls->passphrase.known = false;
            rc = -EKEYREJECTED;
        } else if (SSL_CTX_use_PrivateKey(context, key) != 1 || SSL_CTX_check_private_key(context) != 1) {
            mon__tls_why(why, "%s is not the private key of %s/%s", path, tls->options.dir, side->cert);
            rc = -EKEYREJECTED;
        }
    }
    EVP_PKEY_free(key);
    OPENSSL_clear_free(text, length + 1);
    ERR_clear_error();
    return rc;
}

static SSL_CTX *new_context(enum mon_tls_side side)
{
    SSL_CTX *context = SSL_CTX_new(side == MON_TLS_SERVER ? TLS_server_method() : TLS_client_method());
    if (context == NULL) {
        return NULL;
    }
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_security_level(context, 2);
    SSL_CTX_set_cipher_list(context, SUITES_TLS12);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, verify_peer);
    return context;
}

static int check_directory(const struct mon_tls *tls, char *why)
{
    struct stat st;
    if (mon_path_check(tls->options.dir, MON_PATH_INPUT, &tls->options.say) != 0) {
        mon__tls_why(why, "--certs-dir must be a valid directory!");
        return -ENOTDIR;
    }
    if (stat(tls->options.dir, &st) == 0 && (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        mon__tls_why(why, "%s has mode %04o: others can replace its files; run chmod 700", tls->options.dir,
                     (unsigned)(st.st_mode & 07777));
        return -EPERM;
    }
    return 0;
}

static int build(struct mon_tls *tls, SSL_CTX **out, long long *expiry_s, char *why)
{
    const struct side_files *side = &sides[tls->options.side];
    char path[MON_PATH_MAX_B + 32];
    STACK_OF(X509) *authorities = NULL;
    X509 *own = NULL;
    int rc = check_directory(tls, why);
    if (rc != 0) {
        return rc;
    }
    ERR_clear_error();
    SSL_CTX *context = new_context(tls->options.side);
    if (context == NULL) {
        mon__tls_why(why, "OpenSSL: %s", ERR_reason_error_string(ERR_peek_last_error()));
        return -ENOMEM;
    }
    join(path, tls->options.dir, "ca.crt");
    rc = use_authorities(tls, context, path, &authorities, why);
    if (rc == 0) {
        join(path, tls->options.dir, side->cert);
        rc = use_own(tls, context, path, &own, why);
    }
    if (rc == 0) {
        join(path, tls->options.dir, "ca.crl");
        rc = use_revocations(tls, context, path, authorities, own, why);
    }
    if (rc == 0) {
        join(path, tls->options.dir, side->key);
        rc = use_key(tls, context, path, why);
    }
    if (rc == 0) {
        struct tm tm;
        if (ASN1_TIME_to_tm(X509_get0_notAfter(own), &tm) == 1) {
            *expiry_s = timegm(&tm);
        }
        *out = context;
    } else {
        SSL_CTX_free(context);
    }
    X509_free(own);
    sk_X509_pop_free(authorities, X509_free);
    ERR_clear_error();
    return rc;
}

static char *copy(const char *text)
{
    return text != NULL ? strdup(text) : NULL;
}

int mon_tls_open(const struct mon_tls_options *options, struct mon_tls **out, char why[MON_TLS_WHY_B])
{
    struct mon_tls *tls = calloc(1, sizeof(*tls));
    if (tls == NULL) {
        mon__tls_why(why, "out of memory");
        return -ENOMEM;
    }
    pthread_once(&refusal_once, make_refusal_index);
    tls->options = *options;
    tls->options.dir = copy(options->dir);
    tls->options.passphrase_file = copy(options->passphrase_file);
    tls->options.passphrase_env = copy(options->passphrase_env);
    int rc = tls->options.dir == NULL ? -ENOMEM : build(tls, &tls->context, &tls->expiry_s, why);
    if (rc != 0) {
        mon_tls_close(tls);
        return rc;
    }
    *out = tls;
    return 0;
}

int mon_tls_reload(struct mon_tls *tls, char why[MON_TLS_WHY_B])
{
    SSL_CTX *context;
    bool prompt = tls->options.prompt;
    tls->options.prompt = false; /* a running daemon must not prompt */
    int rc = build(tls, &context, &tls->expiry_s, why);
    tls->options.prompt = prompt;
    if (rc == 0) {
        SSL_CTX_free(tls->context);
        tls->context = context;
    }
    return rc;
}

void mon_tls_close(struct mon_tls *tls)
{
    if (tls == NULL) {
        return;
    }
    SSL_CTX_free(tls->context);
    OPENSSL_cleanse(&tls->passphrase, sizeof(tls->passphrase));
    free((char *)tls->options.dir);
    free((char *)tls->options.passphrase_file);
    free((char *)tls->options.passphrase_env);
    free(tls);
}

long long mon_tls_expiry_s(const struct mon_tls *tls)
{
    return tls->expiry_s;
}

SSL *mon_tls_connection(struct mon_tls *tls, const char *peer_host)
{
    SSL *ssl = SSL_new(tls->context);
    if (ssl == NULL || tls->options.side == MON_TLS_SERVER) {
        return ssl;
    }
    unsigned char address[16];
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    int rc;
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (inet_pton(AF_INET, peer_host, address) == 1 || inet_pton(AF_INET6, peer_host, address) == 1) {
        rc = X509_VERIFY_PARAM_set1_ip_asc(param, peer_host);
    } else {
        rc = X509_VERIFY_PARAM_set1_host(param, peer_host, 0) & (int)SSL_set_tlsext_host_name(ssl, peer_host);
    }
    if (rc != 1) {
        SSL_free(ssl);
        return NULL;
    }
    return ssl;
}

/* Explanations of the most common failures, for the administrator. */
static const struct {
    int reason;
    const char *text;
} meanings[] = {
    {SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, "the peer sent no certificate"},
    {SSL_R_HTTP_REQUEST, "HTTP request received on a TLS port"},
    {SSL_R_WRONG_VERSION_NUMBER, "the peer does not use TLS; one side runs with certificates, the other without"},
    {SSL_R_UNSUPPORTED_PROTOCOL, "the peer supports only TLS versions older than 1.2"},
    {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, "the peer accepts neither TLS 1.2 nor TLS 1.3"},
    {SSL_R_NO_SHARED_CIPHER, "no cipher suite in common"},
    {SSL_R_TLSV1_ALERT_UNKNOWN_CA, "the peer does not trust the authority of our certificate"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, "our certificate is on the peer's revocation list"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, "the peer considers our certificate expired"},
    {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, "the peer refused our certificate"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, "the peer refused our certificate"},
    {SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, "the peer refused our certificate for this purpose"},
    {SSL_R_TLSV1_ALERT_DECRYPT_ERROR, "the peer could not verify our signature"},
    {SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, "the peer refused the handshake"},
    {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, "the peer requires a certificate and we sent none"},
};

void mon_tls_failure(const SSL *ssl, unsigned long code, char why[MON_TLS_WHY_B])
{
    const char *refusal = ssl != NULL ? SSL_get_ex_data(ssl, refusal_index) : NULL;
    if (refusal != NULL) {
        mon__tls_why(why, "%s", refusal);
        return;
    }
    if (ERR_GET_LIB(code) == ERR_LIB_SSL) {
        for (size_t i = 0; i < MS_COUNT_OF(meanings); i++) {
            if (meanings[i].reason == ERR_GET_REASON(code)) {
                mon__tls_why(why, "%s", meanings[i].text);
                return;
            }
        }
    }
    const char *reason = code != 0 ? ERR_reason_error_string(code) : NULL;
    mon__tls_why(why, "%s", reason != NULL ? reason : "the peer closed the connection during the handshake");
}
