/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a certificate directory with any content: they are read, checked and freed. */
#include "monitor/wire/tls_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum mon_cert_role roles[] = {MON_CERT_SERVER, MON_CERT_CLIENT, MON_CERT_CA_SERVER, MON_CERT_CA_CLIENT,
                                               MON_CERT_PEER};
    char path[64], why[MON_TLS_WHY_B] = "";
    int fd = memfd_create("certs", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        abort();
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    STACK_OF(X509) *certs = mon__cert_load(path, why);
    if (certs == NULL && why[0] == '\0') {
        abort();
    }
    for (int i = 0; i < sk_X509_num(certs); i++) {
        for (size_t j = 0; j < MS_COUNT_OF(roles); j++) {
            mon__cert_refused(sk_X509_value(certs, i), roles[j], why);
        }
    }
    STACK_OF(X509_CRL) *lists = mon__crl_load(path, certs, why);
    sk_X509_CRL_pop_free(lists, X509_CRL_free);
    sk_X509_pop_free(certs, X509_free);
    close(fd);
    return 0;
}
