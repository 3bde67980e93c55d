/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD of the target: the recorder's library first (after a sanitizer's, which must be first), the ATB hook that
 * matches ATB_HOME_PATH, then the user's entries, without those added before. */
#include "cli/msmemscope/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDER "libascend_kernel_hook.so"

/* Entries are separated by colons or blanks, so a path that contains one cannot be preloaded. */
static const char separators[] = ": \t\n";

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    while (n > 0 && text[n - 1] == '/') {
        n--;
    }
    return n >= m && memcmp(text + n - m, end, m) == 0;
}

static const char *atb_hook(void)
{
    const char *home = getenv("ATB_HOME_PATH");
    if (home == NULL || *home == '\0') {
        return NULL;
    }
    if (ends_with(home, "atb/cxx_abi_0")) {
        return "libatb_abi_0_hook.so";
    }
    if (ends_with(home, "atb/cxx_abi_1")) {
        return "libatb_abi_1_hook.so";
    }
    cli_warn("ATB_HOME_PATH=%.200s names neither ABI (.../atb/cxx_abi_0 or .../atb/cxx_abi_1); ATB is not recorded.",
             home);
    return NULL;
}

static const char *base_name(const char *path, size_t *length)
{
    const char *slash = memrchr(path, '/', *length);
    if (slash != NULL) {
        *length -= (size_t)(slash + 1 - path);
        return slash + 1;
    }
    return path;
}

int preload_set(const struct home *home, const struct program *program)
{
    const char *atb = atb_hook();
    const char *old = getenv("LD_PRELOAD");
    old = old != NULL ? old : "";
    if (home->lib64[strcspn(home->lib64, separators)] != '\0') {
        cli_error("cannot preload %s: LD_PRELOAD does not support paths with blanks or colons.", home->lib64);
        return -1;
    }
    char path[MS_PATH_MAX_B + 64];
    snprintf(path, sizeof(path), "%s/" RECORDER, home->lib64);
    if (access(path, R_OK) != 0) {
        cli_error("%s is missing; the installation is incomplete.", path);
        return -1;
    }
    size_t room = strlen(old) + 2 * sizeof(path) + sizeof(program->needs_first) + 8;
    char *value = malloc(room);
    if (value == NULL) {
        return -1;
    }
    size_t n = 0;
    if (program->needs_first[0] != '\0') {
        n += (size_t)snprintf(value + n, room - n, "%s:", program->needs_first);
    }
    n += (size_t)snprintf(value + n, room - n, "%s", path);
    if (atb != NULL) {
        n += (size_t)snprintf(value + n, room - n, ":%s/%s", home->lib64, atb);
    }
    for (const char *p = old + strspn(old, separators); *p != '\0'; p += strspn(p, separators)) {
        size_t length = strcspn(p, separators), name_b = length;
        const char *name = base_name(p, &name_b);
        bool ours = (name_b == strlen(RECORDER) && memcmp(name, RECORDER, name_b) == 0) ||
                    (atb != NULL && name_b == strlen(atb) && memcmp(name, atb, name_b) == 0) ||
                    (program->needs_first[0] != '\0' && name_b == strlen(program->needs_first) &&
                     memcmp(name, program->needs_first, name_b) == 0);
        if (!ours) {
            n += (size_t)snprintf(value + n, room - n, ":%.*s", (int)length, p);
        }
        p += length;
    }
    int rc = setenv("LD_PRELOAD", value, 1);
    free(value);
    return rc;
}
