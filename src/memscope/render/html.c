/* SPDX-License-Identifier: Apache-2.0 */
/* See html.h. Names in a recording are untrusted: inside the element that holds the report, a '<' could start its end
 * tag (</script>) or a comment, so it is written as a JSON escape; in JSON it occurs only in strings. U+2028 and U+2029
 * end lines in scripts and are escaped, too. Hashes in the page's policy fix which scripts may run. */
#include "memscope/render/html.h"

#include "memscope/render/html_page.h"

bool ms_html_available(void)
{
    return ms_html_head_b != 0;
}

static void put_escaped(const char *json, size_t json_b, struct ms_buffer *out)
{
    size_t done = 0;
    for (size_t i = 0; i < json_b; i++) {
        const char *escape = NULL;
        size_t length_b = 1;
        if (json[i] == '<') {
            escape = "\\u003c";
        } else if (json[i] == '\xe2' && json_b - i >= 3 && json[i + 1] == '\x80' && (json[i + 2] & 0xfe) == 0xa8) {
            escape = json[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
            length_b = 3;
        }
        if (escape != NULL) {
            ms_buffer_add(out, json + done, i - done);
            ms_buffer_add(out, escape, 6);
            i += length_b - 1;
            done = i + 1;
        }
    }
    ms_buffer_add(out, json + done, json_b - done);
}

void ms_html_page(const char *json, size_t json_b, struct ms_buffer *out)
{
    ms_buffer_add(out, ms_html_head, ms_html_head_b);
    put_escaped(json, json_b, out);
    ms_buffer_add(out, ms_html_tail, ms_html_tail_b);
}
