/* SPDX-License-Identifier: Apache-2.0 */
/* See device_memory.h. The collector's environment has no library path, so the library is searched for where drivers
 * and toolkits install it. It is loaded once and never unloaded: it may have threads of its own. */
#include "collect/device_memory.h"

#include "base/macros.h"
#include "dcmi_interface_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define MIB ((uint64_t)1 << 20)

struct ms_device_memories {
    __typeof__(&dcmi_get_device_hbm_info) hbm_info;
    __typeof__(&dcmi_get_npu_proc_mem_info) users; /* NULL: not available */
    unsigned count;
    struct {
        int card, device;
        uint32_t number; /* as programs and the driver count */
    } at[MS_DEVICES_MAX];
};

static void *load(void)
{
    static const char *const places[] = {
        "/usr/local/dcmi/libdcmi.so",
        "/usr/local/Ascend/driver/lib64/driver/libdcmi.so",
        "/usr/local/Ascend/driver/lib64/libdcmi.so",
    };
    char path[4096];
    const char *home = getenv("ASCEND_HOME_PATH");
    void *library = dlopen("libdcmi.so", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL && home != NULL &&
        snprintf(path, sizeof(path), "%s/lib64/libdcmi.so", home) < (int)sizeof(path)) {
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    for (size_t i = 0; i < MS_COUNT_OF(places) && library == NULL; i++) {
        library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

static void list_devices(struct ms_device_memories *memories, void *library)
{
    __typeof__(&dcmi_get_card_list) cards = (__typeof__(cards))dlsym(library, "dcmi_get_card_list");
    __typeof__(&dcmi_get_device_num_in_card) devices =
        (__typeof__(devices))dlsym(library, "dcmi_get_device_num_in_card");
    __typeof__(&dcmi_get_device_logic_id) number = (__typeof__(number))dlsym(library, "dcmi_get_device_logic_id");
    if (cards == NULL) { /* older name, same arguments */
        cards = (__typeof__(cards))dlsym(library, "dcmi_get_card_num_list");
    }
    int list[MS_DEVICES_MAX], count = 0;
    if (cards == NULL || devices == NULL || number == NULL || cards(&count, list, MS_DEVICES_MAX) != 0) {
        return;
    }
    for (int i = 0; i < count && i < MS_DEVICES_MAX; i++) {
        int in_card = 0, logic;
        for (int k = devices(list[i], &in_card) == 0 ? 0 : in_card; k < in_card; k++) {
            if (memories->count < MS_DEVICES_MAX && number(&logic, list[i], k) == 0 && logic >= 0) {
                memories->at[memories->count].card = list[i];
                memories->at[memories->count].device = k;
                memories->at[memories->count++].number = (uint32_t)logic;
            }
        }
    }
}

struct ms_device_memories *ms_device_memories_open(void)
{
    void *library = load();
    struct ms_device_memories *memories = library != NULL ? calloc(1, sizeof(*memories)) : NULL;
    if (memories == NULL) {
        return NULL;
    }
    __typeof__(&dcmi_init) init = (__typeof__(init))dlsym(library, "dcmi_init");
    memories->hbm_info = (__typeof__(memories->hbm_info))dlsym(library, "dcmi_get_device_hbm_info");
    memories->users = (__typeof__(memories->users))dlsym(library, "dcmi_get_npu_proc_mem_info");
    if (init != NULL && init() == 0 && memories->hbm_info != NULL) {
        list_devices(memories, library);
    }
    return memories;
}

unsigned ms_device_memories_count(const struct ms_device_memories *memories)
{
    return memories != NULL ? memories->count : 0;
}

bool ms_device_memories_query(struct ms_device_memories *memories, unsigned i, struct ms_device_memory *out)
{
    struct dcmi_hbm_info info = {0};
    struct dcmi_proc_mem_info users[MS_DEVICE_USERS_MAX];
    int card = memories->at[i].card, device = memories->at[i].device, count = 0;
    if (memories->hbm_info(card, device, &info) != 0) {
        return false;
    }
    *out = (struct ms_device_memory){
        .device = memories->at[i].number, .used_b = info.memory_usage * MIB, .total_b = info.memory_size * MIB};
    if (memories->users == NULL || memories->users(card, device, users, &count) != 0) {
        return true;
    }
    for (int k = 0; k < count && k < MS_DEVICE_USERS_MAX; k++) {
        out->user[k].pid = (uint32_t)users[k].proc_id;
        out->user[k].used_b = users[k].proc_mem_usage;
        out->users++;
    }
    return true;
}
