/* SPDX-License-Identifier: Apache-2.0 */
/* Devices through the management library: softnpu's, and one that fails and returns nonsense. */
#include "base/macros.h"
#include "monitor/metrics/dcmi.h"
#include "monitor/store/series.h"
#include "own_machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char fake[512];
static struct mon_dcmi_sample sample;

static int begin(void **state)
{
    snprintf(fake, sizeof(fake), "%s/tests/unit/libdcmi_fake.so", getenv("NPUSCOPE_BUILD"));
    unsetenv("DCMI_FAKE");
    return mon_metrics_open("node1", 0);
}

static int end(void **state)
{
    mon_metrics_close();
    return 0;
}

static struct mon_dcmi *must_open(const char *library)
{
    struct mon_dcmi *dcmi = NULL;
    char error[256];
    assert_int_equal(mon_dcmi_open(library, &dcmi, error, sizeof(error)), 0);
    return dcmi;
}

static void take_sample(struct mon_dcmi *dcmi)
{
    mon_dcmi_sample(dcmi, &sample);
    mon_dcmi_report(&sample, NULL, NULL);
}

static double of(enum mon_metric metric, const char *device)
{
    return mon_metric_value(metric, MON_LABELS(.device = device));
}

static void software_devices(void **state)
{
    struct mon_dcmi *dcmi = must_open("libdcmi.so");
    take_sample(dcmi);
    assert_int_equal(sample.devices, 2);
    for (unsigned i = 0; i < sample.devices; i++) {
        assert_int_equal(sample.device[i].present, (1u << MON_DCMI_VALUES) - 1); /* all values are reported */
    }
    assert_true(of(MON_METRIC_NPU_MEMORY, "1") == 256.0 * 1048576);
    assert_true(of(MON_METRIC_NPU_TEMPERATURE, "0") > 0);
    assert_true(mon_metric_value(MON_METRIC_NPU_SAMPLES, NULL) == 1);
    mon_dcmi_close(dcmi);
}

static int owner_of_4242(void *context, int32_t pid, struct mon_dcmi_owner *out)
{
    *out = (struct mon_dcmi_owner){.job = 7, .rank = 1};
    return pid == 4242;
}

static void values_and_units(void **state)
{
    struct mon_dcmi *dcmi = must_open(fake);
    mon_dcmi_sample(dcmi, &sample);
    mon_dcmi_report(&sample, owner_of_4242, NULL);
    assert_int_equal(sample.devices, 2);
    assert_true(of(MON_METRIC_NPU_HEALTH, "1") == 1);
    assert_true(of(MON_METRIC_NPU_POWER, "0") == 123.4);
    assert_true(of(MON_METRIC_NPU_MEMORY_USED, "0") == 1024.0 * 1048576);
    assert_true(fabs(of(MON_METRIC_NPU_MEMORY_BANDWIDTH, "0") - 0.07) < 1e-12);
    assert_true(fabs(mon_metric_value(MON_METRIC_NPU_UTILIZATION, MON_LABELS(.device = "0", .unit = "aicore")) - 0.42) <
                1e-12);
    assert_true(mon_metric_value(MON_METRIC_NPU_PROCESS_MEMORY,
                                 MON_LABELS(.job = "7", .rank = "1", .device = "0", .pid = "4242")) == 1048576);
    /* Functions that this library lacks or does not support produce no values and are not failures. */
    assert_null(mon_metrics_first(MON_METRIC_NPU_TEMPERATURE));
    assert_null(mon_metrics_first(MON_METRIC_NPU_SAMPLE_FAILURES));
    mon_dcmi_close(dcmi);
}

static void device_stops_responding(void **state)
{
    struct mon_dcmi *dcmi = must_open(fake);
    take_sample(dcmi);
    setenv("DCMI_FAKE", "dcmi_get_device_health,dcmi_get_device_hbm_info", 1);
    take_sample(dcmi);
    assert_null(mon_metrics_first(MON_METRIC_NPU_HEALTH)); /* no stale value remains */
    assert_null(mon_metrics_first(MON_METRIC_NPU_MEMORY_USED));
    assert_true(of(MON_METRIC_NPU_POWER, "1") == 123.4);
    assert_true(mon_metric_value(MON_METRIC_NPU_SAMPLE_FAILURES, MON_LABELS(.reason = "dcmi_get_device_health")) == 2);
    setenv("DCMI_FAKE", "dcmi_get_card_list", 1);
    take_sample(dcmi);
    assert_null(mon_metrics_first(MON_METRIC_NPU_POWER));
    assert_true(mon_metric_value(MON_METRIC_NPU_SAMPLE_FAILURES, MON_LABELS(.reason = "dcmi_get_card_list")) == 1);
    setenv("DCMI_FAKE", "", 1);
    take_sample(dcmi);
    assert_true(of(MON_METRIC_NPU_HEALTH, "1") == 1);
    mon_dcmi_close(dcmi);
    /* A function that never succeeded is unsupported: not a failure. */
    setenv("DCMI_FAKE", "dcmi_get_device_power_info", 1);
    dcmi = must_open(fake);
    take_sample(dcmi);
    take_sample(dcmi);
    assert_true(mon_metric_value(MON_METRIC_NPU_SAMPLE_FAILURES, MON_LABELS(.reason = "dcmi_get_device_power_info")) ==
                0);
    mon_dcmi_close(dcmi);
}

static void impossible_numbers(void **state)
{
    setenv("DCMI_FAKE", "many", 1);
    struct mon_dcmi *dcmi = must_open(fake);
    take_sample(dcmi);
    assert_int_equal(sample.devices, MON_DCMI_DEVICES);
    assert_int_equal(sample.device[0].processes, 0);
    mon_dcmi_close(dcmi);
}

static void unusable_libraries(void **state)
{
    struct mon_dcmi *dcmi = NULL;
    char error[256] = "";
    assert_int_equal(mon_dcmi_open("libnot_there_at_all.so", &dcmi, error, sizeof(error)), -ELIBACC);
    assert_non_null(strstr(error, "libnot_there_at_all.so"));
    assert_int_equal(mon_dcmi_open("libm.so.6", &dcmi, error, sizeof(error)), -ENOSYS);
    assert_non_null(strstr(error, "dcmi_init"));
    setenv("DCMI_FAKE", "dcmi_init", 1);
    assert_int_equal(mon_dcmi_open(fake, &dcmi, error, sizeof(error)), -EIO);
    assert_non_null(strstr(error, "-8255"));
    assert_null(dcmi);
}

int main(void)
{
    own_machine_use("2", NULL);
    setenv("SOFTNPU_HBM", "256M", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(software_devices, begin, end),
        cmocka_unit_test_setup_teardown(values_and_units, begin, end),
        cmocka_unit_test_setup_teardown(device_stops_responding, begin, end),
        cmocka_unit_test_setup_teardown(impossible_numbers, begin, end),
        cmocka_unit_test_setup_teardown(unusable_libraries, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
