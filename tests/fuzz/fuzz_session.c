/* SPDX-License-Identifier: Apache-2.0 */
/* Session strings, messages of the session socket and lines of options, from untrusted sources. */
#include "collect/protocol/session.h"
#include "memscope/options/options.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ms_session session, again;
    static struct ms_settings settings, copy;
    static struct ms_why why;
    ms_message_check(data, size);
    char *text = malloc(size + 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    if (ms_session_parse(text, &session) == 0) {
        char out[2 * MS_SESSION_MAX_B];
        if (ms_session_format(&session, out, sizeof(out)) < MS_SESSION_MAX_B &&
            (ms_session_parse(out, &again) != 0 || memcmp(&session, &again, sizeof(session)) != 0)) {
            abort();
        }
    }
    ms_settings_init(&settings);
    if (ms_options_apply_text(&settings, text, &why) == 0) {
        char out[16384];
        ms_settings_init(&copy);
        if (ms_options_format(&settings, out, sizeof(out)) >= sizeof(out) ||
            ms_options_apply_text(&copy, out, &why) != 0) {
            abort();
        }
    }
    free(text);
    return 0;
}
