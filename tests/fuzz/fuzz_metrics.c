/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics sent by training processes. */
#include "monitor/metrics/npu.h"
#include "monitor/metrics/text_format.h"
#include "monitor/store/series.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct mon_npu_source source = {.job = 1, .rank = 2};
    static unsigned runs;
    if (size == 0) {
        return 0;
    }
    if (runs++ % 1000 == 0) {
        mon_metrics_open("node", 2000);
    }
    if (data[0] % 2 == 0) {
        mon_npu_data(&source, data + 1, size - 1);
    } else {
        mon_npu_opstats(&source, data + 1, size - 1);
    }
    for (const struct mon_series *s = mon_metrics_first(MON_METRIC_OPERATOR); s != NULL; s = s->next) {
        if (!isfinite(s->histogram->sum)) {
            abort();
        }
    }
    if (runs % 1000 == 0) {
        struct ms_buffer page = {0};
        mon_text_format(MON_ALL_GROUPS, &page);
        ms_buffer_free(&page);
    }
    return 0;
}
