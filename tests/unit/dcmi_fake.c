/* SPDX-License-Identifier: Apache-2.0 */
/* A management library whose functions fail, lie or hang according to DCMI_FAKE: a list of words, each the name of a
 * function (it fails), "many" (more processes and devices than possible), "hang" (health never returns). */
#include "dcmi_interface_api.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int configured(const char *word)
{
    const char *list = getenv("DCMI_FAKE");
    return list != NULL && strstr(list, word) != NULL;
}

#define FAIL_IF_TOLD()                                                                                                 \
    do {                                                                                                               \
        if (configured(__func__)) {                                                                                    \
            return -8255;                                                                                              \
        }                                                                                                              \
    } while (0)

int dcmi_init(void)
{
    FAIL_IF_TOLD();
    return 0;
}

int dcmi_get_card_list(int *card_num, int *card_list, int list_len)
{
    FAIL_IF_TOLD();
    *card_num = configured("many") ? 1000000 : 1;
    for (int i = 0; i < list_len && i < *card_num; i++) {
        card_list[i] = i;
    }
    return 0;
}

int dcmi_get_device_num_in_card(int card_id, int *device_num)
{
    FAIL_IF_TOLD();
    *device_num = configured("many") ? 1000000 : 2;
    return 0;
}

int dcmi_get_device_hbm_info(int card_id, int device_id, struct dcmi_hbm_info *hbm_info)
{
    FAIL_IF_TOLD();
    *hbm_info = (struct dcmi_hbm_info){
        .memory_size = 65536, .memory_usage = 1024, .freq = 1600, .temp = 51, .bandwith_util_rate = 7};
    return 0;
}

int dcmi_get_npu_proc_mem_info(int card_id, int device_id, struct dcmi_proc_mem_info *proc_info, int *proc_num)
{
    FAIL_IF_TOLD();
    *proc_num = configured("many") ? -5 : 1;
    proc_info[0] = (struct dcmi_proc_mem_info){.proc_id = 4242, .proc_mem_usage = 1 << 20};
    return 0;
}

int dcmi_get_device_health(int card_id, int device_id, unsigned int *health)
{
    FAIL_IF_TOLD();
    while (configured("hang")) {
        pause();
    }
    *health = (unsigned)device_id; /* the second one is unhealthy */
    return 0;
}

int dcmi_get_device_power_info(int card_id, int device_id, int *power)
{
    FAIL_IF_TOLD();
    *power = 1234;
    return 0;
}

int dcmi_get_device_utilization_rate(int card_id, int device_id, int input_type, unsigned int *utilization_rate)
{
    FAIL_IF_TOLD();
    if (input_type != DCMI_UTILIZATION_RATE_AICORE) {
        return -8255; /* not supported by this family */
    }
    *utilization_rate = 42;
    return 0;
}
