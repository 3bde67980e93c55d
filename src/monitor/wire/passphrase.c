/* SPDX-License-Identifier: Apache-2.0 */
/* Where the passphrase of a private key comes from: a file, the environment, or the terminal.
 *
 * Prompts only if stdin is a terminal, so that a daemon under systemd fails with advice instead of blocking. While the
 * passphrase is typed the terminal does not echo; its mode is restored on every path, also after Ctrl-C. */
#include "monitor/wire/tls_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <openssl/crypto.h>

enum { KEY_CANCEL = 3, KEY_END = 4, KEY_BACKSPACE = 8, KEY_DELETE = 127 };

static int keep(struct mon_passphrase *passphrase, const char *text, size_t length, const char *source, char *why)
{
    if (length > MON_PASSPHRASE_MAX_B) {
        mon__tls_why(why, "the passphrase from %s has more than %d characters", source, MON_PASSPHRASE_MAX_B);
        return -EINVAL;
    }
    memcpy(passphrase->text, text, length);
    passphrase->text[length] = '\0';
    passphrase->known = true;
    return 0;
}

static int from_file(struct mon_passphrase *passphrase, const char *path, char *why)
{
    char *text;
    size_t length;
    int rc = mon__tls_read(path, true, &text, &length, why);
    if (rc == 0) {
        rc = keep(passphrase, text, strcspn(text, "\r\n"), path, why);
        OPENSSL_clear_free(text, length + 1);
    }
    return rc;
}

/* Reads characters until Enter. The daemon echoes a star for each, the command line nothing. */
static int typed(char text[MON_PASSPHRASE_MAX_B + 1], bool stars, char *why)
{
    size_t length = 0;
    int rc = 0;
    for (;;) {
        unsigned char c;
        ssize_t n = read(STDIN_FILENO, &c, 1);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0 || c == KEY_CANCEL || c == KEY_END) {
            mon__tls_why(why, "no passphrase was entered");
            rc = -ECANCELED;
            break;
        }
        if (c == '\n' || c == '\r') {
            break;
        }
        if (c == KEY_BACKSPACE || c == KEY_DELETE) {
            if (length > 0) {
                length--;
                fputs(stars ? "\b \b" : "", stdout);
            }
        } else if (length == MON_PASSPHRASE_MAX_B) {
            mon__tls_why(why, "the passphrase has more than %d characters", MON_PASSPHRASE_MAX_B);
            rc = -EINVAL;
            break;
        } else {
            text[length++] = (char)c;
            fputs(stars ? "*" : "", stdout);
        }
        fflush(stdout);
    }
    text[length] = '\0';
    putchar('\n');
    fflush(stdout);
    return rc;
}

static int from_terminal(struct mon_passphrase *passphrase, enum mon_tls_side side, char *why)
{
    struct termios before, quiet;
    char text[MON_PASSPHRASE_MAX_B + 1];
    if (tcgetattr(STDIN_FILENO, &before) != 0) {
        mon__tls_why(why, "cannot read a passphrase from the terminal: %s", strerror(errno));
        return -ENOTTY;
    }
    quiet = before;
    quiet.c_lflag &= ~(tcflag_t)(ECHO | ICANON | ISIG);
    /* Turn echo off before prompting: characters typed ahead would be shown. */
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
    fputs("Please enter the certificate password: ", stdout);
    fflush(stdout);
    int rc = typed(text, side == MON_TLS_SERVER, why);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    if (rc == 0) {
        rc = keep(passphrase, text, strlen(text), "the terminal", why);
    }
    OPENSSL_cleanse(text, sizeof(text));
    return rc;
}

int mon__passphrase_get(struct mon_passphrase *passphrase, const struct mon_tls_options *options, const char *file,
                        char why[MON_TLS_WHY_B])
{
    const char *text = options->passphrase_env != NULL ? getenv(options->passphrase_env) : NULL;
    if (options->passphrase_file != NULL && options->passphrase_file[0] != '\0') {
        return from_file(passphrase, options->passphrase_file, why);
    }
    if (text != NULL) {
        return keep(passphrase, text, strlen(text), options->passphrase_env, why);
    }
    if (passphrase->known) {
        return 0;
    }
    if (options->prompt && isatty(STDIN_FILENO)) {
        return from_terminal(passphrase, options->side, why);
    }
    mon__tls_why(
        why,
        "%s is encrypted and there is no terminal to prompt for its passphrase; name a file that contains it with "
        "--certs%cpassphrase%cfile, or set %s",
        file, options->side == MON_TLS_SERVER ? '_' : '-', options->side == MON_TLS_SERVER ? '_' : '-',
        options->passphrase_env != NULL ? options->passphrase_env : "its environment variable");
    return -ENOTTY;
}
