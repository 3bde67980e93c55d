/* SPDX-License-Identifier: Apache-2.0 */
#include "hal_test.h"

#include "dcmi_interface_api.h"

#define CAPACITY (256 * MIB)

static void the_machine_is_not_in_use_yet(void **state)
{
    int n, list[64];
    struct dcmi_hbm_info hbm;
    assert_int_equal(dcmi_init(), 0);
    assert_int_equal(dcmi_get_card_list(&n, list, 64), 0);
    assert_int_equal(n, 2);
    assert_int_equal(list[1], 1);
    assert_int_equal(dcmi_get_device_hbm_info(0, 0, &hbm), 0);
    assert_int_equal(hbm.memory_size, 256);
    assert_int_equal(hbm.memory_usage, 0);
    assert_int_equal(access(own_machine_path, F_OK), -1); /* observing does not create it */
}

static void cards_and_devices(void **state)
{
    int n, id, mcu, cpu, list[1];
    char version[64];
    assert_int_equal(dcmi_get_card_num_list(&n, list, 1), 0);
    assert_int_equal(n, 1);
    assert_int_equal(dcmi_get_device_num_in_card(1, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(dcmi_get_device_logic_id(&id, 1, 0), 0);
    assert_int_equal(id, 1);
    assert_int_equal(dcmi_get_device_id_in_card(0, &n, &mcu, &cpu), 0);
    assert_int_equal(n, 1);
    assert_int_equal(dcmi_get_driver_version(version, sizeof(version)), 0);
    assert_int_not_equal(version[0], '\0');
    assert_int_not_equal(dcmi_get_driver_version(version, 2), 0);
    assert_int_not_equal(dcmi_get_device_num_in_card(2, &n), 0);
    assert_int_not_equal(dcmi_get_device_num_in_card(-1, &n), 0);
    assert_int_not_equal(dcmi_get_device_logic_id(&id, 0, 1), 0);
    assert_int_not_equal(dcmi_get_device_logic_id(NULL, 0, 0), 0);
    assert_int_not_equal(dcmi_get_card_list(NULL, list, 1), 0);
    assert_int_not_equal(dcmi_get_card_list(&n, list, 0), 0);
}

static void memory_of_all_processes_is_shown(void **state)
{
    struct dcmi_hbm_info hbm;
    struct dcmi_proc_mem_info proc[64];
    unsigned percent;
    int n;
    void *p = must_alloc(10 * MIB, DEV_FLAGS);
    struct hal_child c = hal_spawn("hold", "");
    assert_string_equal(hal_hear(&c), "held");
    assert_int_equal(dcmi_get_device_hbm_info(0, 0, &hbm), 0);
    assert_int_equal(hbm.memory_size, 256);
    assert_int_equal(hbm.memory_usage, 74);
    assert_int_equal(dcmi_get_device_utilization_rate(0, 0, DCMI_UTILIZATION_RATE_HBM, &percent), 0);
    assert_int_equal(percent, 28);
    assert_int_equal(dcmi_get_npu_proc_mem_info(0, 0, proc, &n), 0);
    assert_int_equal(n, 2);
    int mine = proc[0].proc_id == getpid() ? 0 : 1;
    assert_int_equal(proc[mine].proc_id, getpid());
    assert_int_equal(proc[mine].proc_mem_usage, 10 * MIB);
    assert_int_equal(proc[1 - mine].proc_id, c.pid);
    assert_int_equal(proc[1 - mine].proc_mem_usage, 64 * MIB);
    assert_int_equal(dcmi_get_npu_proc_mem_info(1, 0, proc, &n), 0);
    assert_int_equal(n, 0);
    kill(c.pid, SIGKILL);
    hal_end(&c);
    assert_int_equal(dcmi_get_device_hbm_info(0, 0, &hbm), 0);
    assert_int_equal(hbm.memory_usage, 10);
    halMemFree(p);
    /* This process is still registered on its machine: another one sees its memory. */
    p = must_alloc(CAPACITY, DEV_FLAGS);
    c = hal_spawn("hold", "");
    assert_string_equal(hal_hear(&c), "refused");
    hal_end(&c);
    halMemFree(p);
}

/* Waits until a new sample is due, then takes it. */
static unsigned look(uint32_t dev)
{
    unsigned percent;
    uint64_t start_ns = ms_clock_raw_ns();
    while (ms_clock_raw_ns() - start_ns < 12000000u) {
        usleep(1000);
    }
    assert_int_equal(dcmi_get_device_utilization_rate((int)dev, 0, DCMI_UTILIZATION_RATE_AICORE, &percent), 0);
    return percent;
}

static void utilisation_follows_the_activity(void **state)
{
    int idle_temp, temp, idle_power, power;
    unsigned value;
    look(0);
    assert_int_equal(look(0), 0);
    assert_int_equal(dcmi_get_device_temperature(0, 0, &idle_temp), 0);
    assert_int_equal(dcmi_get_device_power_info(0, 0, &idle_power), 0);
    __atomic_fetch_add(&snpu_hal_activity(0)->busy_ns, 3600ull * 1000000000u, __ATOMIC_RELAXED);
    assert_int_equal(look(0), 100);
    assert_int_equal(dcmi_get_device_temperature(0, 0, &temp), 0);
    assert_int_equal(dcmi_get_device_power_info(0, 0, &power), 0);
    assert_true(temp > idle_temp);
    assert_true(power > idle_power);
    assert_int_equal(look(0), 0);
    assert_int_equal(look(1), 0);
    assert_int_equal(dcmi_get_device_frequency(0, 0, DCMI_FREQ_AICORE_CURRENT, &value), 0);
    assert_true(value > 500 && value < 5000);
    assert_int_equal(dcmi_get_device_voltage(0, 0, &value), 0);
    assert_int_not_equal(dcmi_get_device_utilization_rate(0, 0, 99, &value), 0);
    assert_int_not_equal(dcmi_get_device_frequency(0, 0, 99, &value), 0);
}

static void health_reports_a_lost_device(void **state)
{
    unsigned health, codes[4];
    int n;
    assert_int_equal(dcmi_get_device_health(0, 0, &health), 0);
    assert_int_equal(health, 0);
    snpu_hal_set_lost(0, true);
    assert_int_equal(dcmi_get_device_health(0, 0, &health), 0);
    assert_int_not_equal(health, 0);
    assert_int_equal(dcmi_get_device_health(1, 0, &health), 0);
    assert_int_equal(health, 0);
    snpu_hal_set_lost(0, false);
    assert_int_equal(dcmi_get_device_errorcode_v2(0, 0, &n, codes, 4), 0);
    assert_int_equal(n, 0);
    assert_int_not_equal(dcmi_get_device_health(0, 0, NULL), 0);
}

static int role_hold(void)
{
    void *p;
    child_say(halMemAlloc(&p, 64 * MIB, DEV_FLAGS) == 0 ? "held" : "refused");
    while (child_listen() != NULL) {
    }
    return 0;
}

int main(int argc, char **argv)
{
    hal_use_machine("2", "256M");
    if (argc > 1) {
        return role_hold();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_machine_is_not_in_use_yet),    cmocka_unit_test(cards_and_devices),
        cmocka_unit_test(memory_of_all_processes_is_shown), cmocka_unit_test(utilisation_follows_the_activity),
        cmocka_unit_test(health_reports_a_lost_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
