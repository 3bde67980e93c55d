/* SPDX-License-Identifier: Apache-2.0 */
/* Reduced reports: fewer points and steps, with the same peaks and sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "memscope/render/reduce.h"

#include <stdlib.h>

#define COUNT 1999u

static struct ms_report_point points[COUNT];
static struct ms_report_free frees[COUNT];
static struct ms_report_step steps[COUNT];

static void test_reduce(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < COUNT; i++) {
        points[i] = (struct ms_report_point){.t_ns = i * 10, .used_b = (i * 7919u) % 1000};
        points[i].classes_b[MS_CLASS_POOL] = points[i].used_b;
        frees[i] = (struct ms_report_free){.t_ns = i * 10, .pinned_free_b = (i * 104729u) % 1000};
        steps[i] = (struct ms_report_step){.step = i + 1};
    }
    points[1234].used_b = points[1234].classes_b[MS_CLASS_POOL] = 5000;
    const struct ms_report_device devices[2] = {{.points = points,
                                                 .point_count = COUNT,
                                                 .fragmentation = {.points = frees, .point_count = COUNT},
                                                 .steps = steps,
                                                 .step_count = COUNT,
                                                 .steps_left_out = 3},
                                                {.points = points, .point_count = 20, .steps = steps, .step_count = 7}};
    const struct ms_report_process processes[2] = {{.devices = devices, .device_count = 2}, {.pid = 1}};
    const struct ms_report report = {.processes = processes, .process_count = 2};
    const struct ms_reduce_options options = {.points = 100, .steps = 50};
    struct ms_report *reduced = ms_report_reduce(&report, &options);
    assert_non_null(reduced);
    assert_int_equal(reduced->process_count, 2);
    assert_int_equal(reduced->processes[1].device_count, 0);
    const struct ms_report_device *device = &reduced->processes[0].devices[0];
    assert_true(device->point_count <= 100 && device->point_count > 90);
    uint64_t most = 0;
    for (size_t i = 0; i < device->point_count; i++) {
        assert_int_equal(device->points[i].classes_b[MS_CLASS_POOL], device->points[i].used_b);
        assert_int_equal(device->points[i].t_ns, i * 20 * 10);
        for (size_t j = i * 20; j < (i + 1) * 20 && j < COUNT; j++) {
            assert_true(points[j].used_b <= device->points[i].used_b);
        }
        most = device->points[i].used_b > most ? device->points[i].used_b : most;
    }
    assert_int_equal(most, 5000);
    assert_true(device->fragmentation.point_count <= 100);
    assert_true(device->step_count <= 51);
    assert_int_equal(device->steps[device->step_count - 1].step, COUNT);
    assert_int_equal(device->steps_left_out, 3 + COUNT - device->step_count);
    device = &reduced->processes[0].devices[1]; /* small arrays are unchanged */
    assert_ptr_equal(device->points, points);
    assert_int_equal(device->point_count, 20);
    assert_ptr_equal(device->steps, steps);
    ms_report_reduced_free(reduced);
    ms_report_reduced_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reduce)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
