/* SPDX-License-Identifier: Apache-2.0 */
/* The option text of the caching allocator. */
#include "npupool_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static aclError parse(struct npool_config *config, const char *text)
{
    npool_config_default(config);
    return npool_config_parse(config, text);
}

static void defaults(void **state)
{
    struct npool_config config;
    npool_config_default(&config);
    assert_true(config.max_split_size_b == NPOOL_UNLIMITED);
    assert_int_equal(config.large_segment_size_b, 20 * MIB);
    assert_false(config.expandable_segments);
    assert_true(config.per_process_memory_fraction == 1.0);
    assert_int_equal(parse(&config, ""), 0);
}

static void every_option_is_stored(void **state)
{
    struct npool_config config;
    assert_int_equal(
        parse(&config, "max_split_size_mb:128, garbage_collection_threshold:0.8,expandable_segments:True,"
                       "large_segment_size_mb:40,max_non_split_rounding_mb:30,pinned_use_background_threads:True,"
                       "pinned_max_round_threshold_mb:8,pinned_max_cached_size_mb:4,pinned_mem_register:True,"
                       "pin_memory_expandable_segments:True,base_addr_aligned_kb:16,page_size:1g,"
                       "multi_stream_lazy_reclaim:True,per_process_memory_fraction:0.5,"
                       "pinned_reserve_segment_size_mb:2,release_lock_on_npumalloc:True,throw_on_npumalloc_oom:True"),
        0);
    assert_int_equal(config.max_split_size_b, 128 * MIB);
    assert_true(config.garbage_collection_threshold == 0.8);
    assert_true(config.expandable_segments);
    assert_int_equal(config.large_segment_size_b, 40 * MIB);
    assert_int_equal(config.max_non_split_rounding_b, 30 * MIB);
    assert_true(config.pinned_use_background_threads);
    assert_int_equal(config.pinned_max_round_b, 8 * MIB);
    assert_int_equal(config.pinned_max_cached_b, 4 * MIB);
    assert_true(config.pinned_mem_register);
    assert_true(config.pin_memory_expandable_segments);
    assert_int_equal(config.base_addr_align_b, 16 * KIB);
    assert_true(config.page_1g);
    assert_true(config.multi_stream_lazy_reclaim);
    assert_true(config.per_process_memory_fraction == 0.5);
    assert_int_equal(config.pinned_reserve_segment_b, 2 * MIB);
    assert_true(config.release_lock_on_npumalloc);
    assert_true(config.throw_on_npumalloc_oom);
    assert_int_equal(parse(&config, "segment_size_mb:64"), 0);
    assert_int_equal(config.large_segment_size_b, 64 * MIB);
    assert_int_equal(parse(&config, "expandable_segments:False"), 0);
    assert_false(config.expandable_segments);
}

static void divisions_by_size(void **state)
{
    struct npool_config config;
    assert_int_equal(parse(&config, "roundup_power2_divisions:4"), 0);
    for (size_t i = 0; i < NPOOL_ROUNDUP_LEVELS; i++) {
        assert_int_equal(config.roundup_power2_divisions[i], 4);
    }
    assert_int_equal(
        parse(&config, "max_split_size_mb:64,roundup_power2_divisions:[256:1,512:2,1024:4,>:8],page_size:1g"), 0);
    for (size_t i = 0; i <= 8; i++) {
        assert_int_equal(config.roundup_power2_divisions[i], 1);
    }
    assert_int_equal(config.roundup_power2_divisions[9], 2);
    assert_int_equal(config.roundup_power2_divisions[10], 4);
    for (size_t i = 11; i < NPOOL_ROUNDUP_LEVELS; i++) {
        assert_int_equal(config.roundup_power2_divisions[i], 8);
    }
    assert_true(config.page_1g);
}

static void invalid_texts_change_nothing(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"max_split_size_mb:20", "greater than 20"},
        {"max_split_size_mb:-1", "max_split_size_mb"},
        {"max_split_size_mb:1e3", "max_split_size_mb"},
        {"max_split_size_mb", "name:value"},
        {"expandable_segments:true", "True or False"},
        {"expandable_segments:", "True or False"},
        {"garbage_collection_threshold:1.0", "less than 1"},
        {"garbage_collection_threshold:nan", "less than 1"},
        {"per_process_memory_fraction:1.5", "not greater than 1"},
        {"per_process_memory_fraction:0", "greater than 0"},
        {"segment_size_mb:513", "between 20 and 512"},
        {"base_addr_aligned_kb:17", "between 0 and 16"},
        {"page_size:2m", "must be 1g"},
        {"roundup_power2_divisions:3", "power of two"},
        {"roundup_power2_divisions:[256:3]", "power of two"},
        {"roundup_power2_divisions:[300:2]", "power of two"},
        {"roundup_power2_divisions:[>:2,256:1]", "power of two"},
        {"roundup_power2_divisions:[256:1", "power of two"},
        {"roundup_power2_divisions:[]", "power of two"},
        {"large_segment_size_mb:99999999999999999999", "at least 20"},
        {"no_such_option:1", "unknown option 'no_such_option'"},
        {"expandable_segments:True,,page_size:1g", "name:value"},
        {":", "unknown option"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct npool_config config;
        npool_config_default(&config);
        char text[128];
        snprintf(text, sizeof(text), "multi_stream_lazy_reclaim:True,%s", cases[i].text);
        if (npool_config_parse(&config, text) != ACL_ERROR_INVALID_PARAM || config.multi_stream_lazy_reclaim) {
            fail_msg("'%s' was taken", cases[i].text);
        }
        if (strstr(npool_last_error(), cases[i].says) == NULL) {
            fail_msg("'%s': the message '%s' does not say '%s'", cases[i].text, npool_last_error(), cases[i].says);
        }
    }
    assert_int_equal(npool_config_parse(NULL, ""), ACL_ERROR_INVALID_PARAM);
}

static void environment(void **state)
{
    struct npool_config config;
    setenv("PYTORCH_NPU_ALLOC_CONF", "max_split_size_mb:64", 1);
    assert_int_equal(npool_config_from_env(&config), 0);
    assert_int_equal(config.max_split_size_b, 64 * MIB);
    assert_false(config.no_caching);
    setenv("PYTORCH_ALLOC_CONF", "", 1);
    assert_int_equal(npool_config_from_env(&config), ACL_ERROR_INVALID_PARAM);
    assert_non_null(strstr(npool_last_error(), "both set"));
    assert_null(npool_caching_create(NULL));
    unsetenv("PYTORCH_NPU_ALLOC_CONF");
    setenv("PYTORCH_ALLOC_CONF", "page_size:4k", 1);
    assert_int_equal(npool_config_from_env(&config), ACL_ERROR_INVALID_PARAM);
    assert_non_null(strstr(npool_last_error(), "PYTORCH_ALLOC_CONF: option page_size"));
    unsetenv("PYTORCH_ALLOC_CONF");
    setenv("PYTORCH_NO_NPU_MEMORY_CACHING", "1", 1);
    assert_int_equal(npool_config_from_env(&config), 0);
    assert_true(config.no_caching);
    unsetenv("PYTORCH_NO_NPU_MEMORY_CACHING");
}

int main(int argc, char **argv)
{
    fixture_environment(argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),          cmocka_unit_test(every_option_is_stored),
        cmocka_unit_test(divisions_by_size), cmocka_unit_test(invalid_texts_change_nothing),
        cmocka_unit_test(environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
