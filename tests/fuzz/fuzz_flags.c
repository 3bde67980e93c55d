/* SPDX-License-Identifier: Apache-2.0 */
/* Flag files: any text results in values within their ranges, or in an error message. */
#include "monitor/daemon/flags.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mon_flags flags;
    struct mon_flag_notes notes = {NULL, 0, 0};
    char error[256] = "";
    /* do not read other files */
    if (memmem(data, size, "flagfile", 8) != NULL || mon_flags_init(&flags) != 0) {
        return 0;
    }
    int result =
        mon_flags_parse_text(&flags, "/usr/bin/dynolog", (const char *)data, size, &notes, error, sizeof(error));
    if ((result != 0) != (error[0] != '\0') || flags.port < 0 || flags.port > 65535 || flags.certs_dir == NULL) {
        abort();
    }
    mon_flags_free(&flags);
    mon_flag_notes_free(&notes);
    return 0;
}
