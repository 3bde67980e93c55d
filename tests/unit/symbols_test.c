/* SPDX-License-Identifier: Apache-2.0 */
/* Text for addresses: names, lines, inlined calls, files without symbols, files that are not ELF, and the effect of
 * hostile files on the process that reads them. */
#include "memscope/symbols/demangle.h"
#include "memscope/symbols/elf_index.h"
#include "memscope/symbols/image.h"
#include "memscope/symbols/perf_map.h"
#include "memscope/symbols/symbolizer.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
// cmocka needs the headers above
#include <cmocka.h>

static void *sample;       /* the library, loaded */
static uintptr_t bias;     /* its load bias */
static char scratch[4096]; /* temporary directory */

static int set_up(void **state)
{
    (void)state;
    sample = dlopen(SAMPLE, RTLD_NOW);
    assert_non_null(sample);
    struct link_map *map;
    assert_int_equal(dlinfo(sample, RTLD_DI_LINKMAP, &map), 0);
    bias = map->l_addr;
    snprintf(scratch, sizeof(scratch), "/tmp/symbols-test-XXXXXX");
    assert_non_null(mkdtemp(scratch));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[sizeof(scratch) + 16];
    snprintf(command, sizeof(command), "rm -rf %s", scratch);
    return system(command);
}

/* File address of the call that the function makes. */
static uint64_t call_in(const char *function)
{
    uintptr_t (*call)(void) = (uintptr_t(*)(void))dlsym(sample, function);
    assert_non_null(call);
    return call() - bias;
}

static char *describe(struct ms_image *image, uint64_t address)
{
    char *text = NULL;
    size_t text_b;
    FILE *out = open_memstream(&text, &text_b);
    ms_image_describe(image, address, out);
    fclose(out);
    return text;
}

/* Removes offsets and directories: "name+\tfile:line". */
static char *plain(char *text)
{
    char *to = text, *from = text;
    while (*from != '\0') {
        if (strncmp(from, "+0x", 3) == 0) {
            *to++ = *from;
            for (from += 3; strchr("0123456789abcdef", *from) != NULL && *from != '\0'; from++) {
            }
        } else if (*from == '\t') {
            *to++ = *from++;
            size_t line_b = strcspn(from, "\n");
            const char *slash = memrchr(from, '/', line_b);
            from = slash != NULL ? (char *)(uintptr_t)slash + 1 : from;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    return text;
}

#define DESCRIBED(image, address, expected)                                                                            \
    do {                                                                                                               \
        char *described_ = plain(describe(image, address));                                                            \
        assert_string_equal(described_, expected);                                                                     \
        free(described_);                                                                                              \
    } while (0)

static struct ms_image *open_image(const char *path, const char *debug, bool lines)
{
    struct ms_image *image;
    int fd = open(path, O_RDONLY | O_CLOEXEC), debug_fd = debug != NULL ? open(debug, O_RDONLY | O_CLOEXEC) : -1;
    assert_true(fd >= 0);
    assert_int_equal(ms_image_open(fd, debug_fd, lines, &image), 0);
    return image;
}

static const char inlined[] = "shop::innermost+\tsymbols_sample.cpp:20\n"
                              "shop::middle+\tsymbols_sample.cpp:27\n"
                              "shop::Basket::weigh(int) const+\tsymbols_sample.cpp:35\n";

static void names_lines_and_inlined_calls(void **state)
{
    (void)state;
    struct ms_image *image = open_image(SAMPLE, NULL, true);
    DESCRIBED(image, call_in("sample_inlined"), inlined);
    DESCRIBED(image, call_in("sample_template"),
              "unsigned long shop::Basket::add<double>(double const&) const+\tsymbols_sample.cpp:43\n");
    DESCRIBED(image, call_in("sample_static"), "hidden_function()+\tsymbols_sample.cpp:65\n");
    DESCRIBED(image, 1ull << 60, "");
    DESCRIBED(image, 0, "");
    const uint8_t *id;
    assert_int_equal(ms_image_build_id(image, &id), 20);
    /* The offset is that of the return address. */
    uint64_t entry = (uintptr_t)dlsym(sample, "_ZNK4shop6Basket3addIdEEmRKT_") - bias,
             address = call_in("sample_template");
    char *text = describe(image, address), expected[64];
    snprintf(expected, sizeof(expected), "const+0x%lx\t/", address - entry);
    assert_non_null(strstr(text, expected));
    free(text);
    ms_image_close(image);
    image = open_image(SAMPLE, NULL, false);
    DESCRIBED(image, call_in("sample_inlined"), "shop::Basket::weigh(int) const+\n");
    ms_image_close(image);
}

static void run(const char *format, ...)
{
    char command[2 * sizeof(scratch)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof(command), format, arguments);
    va_end(arguments);
    assert_int_equal(system(command), 0);
}

static const char *in_scratch(const char *name)
{
    static char path[2][sizeof(scratch) + 64];
    static unsigned next;
    char *out = path[next++ % 2];
    snprintf(out, sizeof(path[0]), "%s/%s", scratch, name);
    return out;
}

static void stripped_and_separate(void **state)
{
    (void)state;
    run("cp %s %s/whole && strip -g -o %s/names %s && strip -s -o %s/bare %s && "
        "objcopy --only-keep-debug %s %s/debug",
        SAMPLE, scratch, scratch, SAMPLE, scratch, SAMPLE, SAMPLE, scratch);
    struct ms_image *image = open_image(in_scratch("names"), NULL, true);
    DESCRIBED(image, call_in("sample_static"), "hidden_function()+\n");
    ms_image_close(image);
    image = open_image(in_scratch("bare"), NULL, true); /* exported functions still have names */
    DESCRIBED(image, call_in("sample_inlined"), "shop::Basket::weigh(int) const+\n");
    DESCRIBED(image, call_in("sample_static"), "");
    ms_image_close(image);
    image = open_image(in_scratch("bare"), in_scratch("debug"), true);
    DESCRIBED(image, call_in("sample_inlined"), inlined);
    DESCRIBED(image, call_in("sample_static"), "hidden_function()+\tsymbols_sample.cpp:65\n");
    ms_image_close(image);
    image = open_image(in_scratch("bare"), "/proc/self/exe", true); /* debug information of another file */
    DESCRIBED(image, call_in("sample_static"), "");
    ms_image_close(image);
}

static void not_elf(void **state)
{
    (void)state;
    struct ms_image *image;
    assert_int_equal(ms_image_open(open("/dev/null", O_RDONLY), -1, true, &image), -ENOEXEC);
    assert_int_equal(ms_image_open(open("/proc/self/cmdline", O_RDONLY), -1, true, &image), -ENOEXEC);
}

static void demangling(void **state)
{
    (void)state;
    static const struct {
        const char *name, *expected;
    } cases[] = {
        {"main", "main"},     {"_ZN2at6native3addEi", "at::native::add(int)"},
        {"_Z", "_Z"},         {"_Zx", "_Zx"},
        {"a\tb\nc", "a?b?c"}, {"", ""},
    };
    char out[MS_NAME_MAX_B];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(ms_demangle(cases[i].name, out), strlen(cases[i].expected));
        assert_string_equal(out, cases[i].expected);
    }
    /* Each S_ repeats everything before it: terabytes if expanded. */
    char bomb[512] = "_Z1fP1aPFvS_S0_E";
    for (unsigned i = 1; i < 26; i++) {
        snprintf(bomb + strlen(bomb), sizeof(bomb) - strlen(bomb), "PFvS%c_S%c_E", 'A' + (int)i - 1, 'A' + (int)i - 1);
    }
    size_t length_b = ms_demangle(bomb, out);
    assert_true(length_b < MS_NAME_MAX_B && out[length_b] == '\0');
    char longest[8192];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(ms_demangle(longest, out), MS_NAME_MAX_B - 1);
    assert_string_equal(out + MS_NAME_MAX_B - 4, "...");
}

static void index_of_overlapping_symbols(void **state)
{
    (void)state;
    struct ms_symbol symbols[] = {{0x100, 0x50, "outer", 0, false},
                                  {0x110, 8, "mark", 2, false},
                                  {0x200, 0x180, "unsized", 4, true},
                                  {0x100, 0x50, "weak", 1, false},
                                  {0x300, 0x10, "last", 0, false}};
    struct ms_elf_index index = {.symbols = malloc(sizeof(symbols)), .count = 5};
    memcpy(index.symbols, symbols, sizeof(symbols));
    ms_elf_index_finish(&index);
    assert_int_equal(index.count, 4);
    static const struct {
        uint64_t address;
        const char *name;
    } cases[] = {{0xff, NULL},       {0x100, "outer"}, {0x117, "mark"}, {0x118, "outer"},
                 {0x14f, "outer"},   {0x150, NULL},    {0x1ff, NULL},   {0x200, "unsized"},
                 {0x2ff, "unsized"}, {0x30f, "last"},  {0x310, NULL},   {UINT64_MAX, NULL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct ms_symbol *found = ms_elf_index_find(&index, cases[i].address);
        if (cases[i].name == NULL) {
            assert_null(found);
        } else {
            assert_string_equal(found->name, cases[i].name);
        }
    }
    ms_elf_index_free(&index);
    assert_null(ms_elf_index_find(&index, 1));
}

static void perf_maps(void **state)
{
    (void)state;
    static const char text[] = "7f0000001000 100 py::old:/a.py\n"
                               "nonsense\n"
                               "7f0000001080 0 empty\n"
                               "0x7f0000002000 0x20 js function with blanks\n"
                               "7f0000001000 80 py::new:/a.py\n"
                               "ffffffffffffffff 10 wraps\n"
                               "7f0000003000 10 cut";
    struct ms_perf_map map;
    ms_perf_map_parse(&map, strdup(text), strlen(text));
    static const struct {
        uint64_t pc;
        const char *name;
    } cases[] = {{0x7f0000000fff, NULL}, {0x7f0000001000, "py::new:/a.py"},           {0x7f0000001080, "py::old:/a.py"},
                 {0x7f0000001100, NULL}, {0x7f000000201f, "js function with blanks"}, {0x7f0000003000, NULL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct ms_perf_entry *entry = ms_perf_map_find(&map, cases[i].pc);
        if (cases[i].name == NULL) {
            assert_null(entry);
        } else {
            assert_non_null(entry);
            assert_int_equal(entry->name_b, strlen(cases[i].name));
            assert_memory_equal(entry->name, cases[i].name, entry->name_b);
        }
    }
    ms_perf_map_free(&map);
    ms_perf_map_parse(&map, NULL, 0);
    assert_null(ms_perf_map_find(&map, 1));
    ms_perf_map_free(&map);
}

/* ---- the child process ---- */

static char *text_of(struct ms_symbolizer *s, int file, uint64_t address)
{
    size_t text_b;
    char *text = ms_symbolizer_text(s, file, address, &text_b);
    return text != NULL ? plain(text) : NULL;
}

static void by_a_child(void **state)
{
    (void)state;
    struct ms_symbolizer *s = ms_symbolizer_new();
    int fd = open(SAMPLE, O_RDONLY | O_CLOEXEC), null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct ms_image *image = open_image(SAMPLE, NULL, false);
    const uint8_t *id;
    size_t id_b = ms_image_build_id(image, &id);
    uint8_t other[20] = {0};
    int file = ms_symbolizer_file(s, fd, -1, id, id_b);
    assert_true(file >= 0);
    assert_int_equal(ms_symbolizer_file(s, fd, -1, other, sizeof(other)), -ESTALE);
    assert_int_equal(ms_symbolizer_file(s, null, -1, NULL, 0), -ENOEXEC);
    char *text = text_of(s, file, call_in("sample_inlined"));
    assert_string_equal(text, inlined);
    free(text);
    assert_null(text_of(s, file, 1ull << 60));
    assert_null(text_of(s, 12345, 0));
    assert_null(text_of(s, -1, 0));
    ms_image_close(image);
    ms_symbolizer_free(s);
    close(fd);
    close(null);
}

/* Kills our children; returns how many. */
static unsigned kill_children(void)
{
    char path[64];
    unsigned killed = 0;
    int pid;
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    while (fscanf(in, "%d", &pid) == 1) {
        kill(pid, SIGKILL);
        killed++;
    }
    fclose(in);
    return killed;
}

static void a_child_that_dies(void **state)
{
    (void)state;
    struct ms_symbolizer *s = ms_symbolizer_new();
    int fd = open(SAMPLE, O_RDONLY | O_CLOEXEC);
    int file = ms_symbolizer_file(s, fd, -1, NULL, 0);
    uint64_t address = call_in("sample_inlined");
    static const char *const expected[] = {inlined, "shop::Basket::weigh(int) const+\n", NULL, NULL};
    for (size_t i = 0; i < 4; i++) { /* each death reduces what is requested */
        char *text = text_of(s, file, address);
        if (expected[i] == NULL) {
            assert_null(text);
        } else {
            assert_string_equal(text, expected[i]);
        }
        free(text);
        kill_children();
    }
    ms_symbolizer_free(s);
    close(fd);
}

static void files_that_change(void **state)
{
    (void)state;
    run("cp %s %s", SAMPLE, in_scratch("cut"));
    struct ms_symbolizer *s = ms_symbolizer_new();
    int fd = open(in_scratch("cut"), O_RDONLY | O_CLOEXEC);
    int file = ms_symbolizer_file(s, fd, -1, NULL, 0);
    assert_true(file >= 0);
    assert_int_equal(truncate(in_scratch("cut"), 4096), 0); /* the mapped pages are gone: SIGBUS, in the child */
    free(text_of(s, file, call_in("sample_inlined")));
    int whole_fd = open(SAMPLE, O_RDONLY | O_CLOEXEC);
    int whole = ms_symbolizer_file(s, whole_fd, -1, NULL, 0);
    char *text = text_of(s, whole, call_in("sample_inlined"));
    assert_string_equal(text, inlined);
    free(text);
    ms_symbolizer_free(s);
    close(fd);
    close(whole_fd);
}

/* Random byte changes with a fixed seed: whatever they do to the child, an intact file is read afterwards. */
static void hostile_files(void **state)
{
    (void)state;
    struct ms_symbolizer *s = ms_symbolizer_new();
    int fd = open(SAMPLE, O_RDONLY | O_CLOEXEC), fds[24];
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    uint8_t *bytes = malloc((size_t)status.st_size);
    uint32_t random = 4711;
    for (size_t round = 0; round < 24; round++) {
        assert_int_equal(pread(fd, bytes, (size_t)status.st_size, 0), status.st_size);
        for (unsigned i = 0; i < 200; i++) {
            random = random * 1664525 + 1013904223;
            bytes[random % (uint32_t)status.st_size] = (uint8_t)(random >> 24);
        }
        memcpy(bytes, ELFMAG, SELFMAG);
        fds[round] = memfd_create("hostile", MFD_CLOEXEC);
        assert_int_equal(write(fds[round], bytes, (size_t)status.st_size), status.st_size);
        int file = ms_symbolizer_file(s, fds[round], -1, NULL, 0);
        for (unsigned i = 0; file >= 0 && i < 4; i++) {
            free(text_of(s, file, call_in("sample_inlined") + i));
        }
    }
    int sound = ms_symbolizer_file(s, fd, -1, NULL, 0);
    char *text = text_of(s, sound, call_in("sample_inlined"));
    assert_string_equal(text, inlined);
    free(text);
    ms_symbolizer_free(s);
    for (size_t i = 0; i < 24; i++) {
        close(fds[i]);
    }
    close(fd);
    free(bytes);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], MS_SYMBOLS_ARGUMENT) == 0) {
        return ms_symbols_main();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lines_and_inlined_calls),
        cmocka_unit_test(stripped_and_separate),
        cmocka_unit_test(not_elf),
        cmocka_unit_test(demangling),
        cmocka_unit_test(index_of_overlapping_symbols),
        cmocka_unit_test(perf_maps),
        cmocka_unit_test(by_a_child),
        cmocka_unit_test(a_child_that_dies),
        cmocka_unit_test(files_that_change),
        cmocka_unit_test(hostile_files),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
