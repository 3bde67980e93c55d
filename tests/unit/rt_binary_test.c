/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted binaries: genuine device files, JSON descriptions, and damaged files of every kind. A damaged file only
 * yields an error code; whatever loads can be queried for its functions and launched. */
#include "rt_fixture.h"

#include "elf_sample.h"
#include "softnpu/runtime/elf.h"

#include <fcntl.h>
#include <sys/stat.h>

static char folder[512];
static unsigned char *object; /* the shared object with the test kernels */
static size_t object_b;

static unsigned char *read_whole(const char *path, size_t *size_b)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    unsigned char *data = malloc((size_t)st.st_size);
    assert_int_equal(read(fd, data, (size_t)st.st_size), st.st_size);
    close(fd);
    *size_b = (size_t)st.st_size;
    return data;
}

static void write_whole(const char *path, const void *data, size_t size_b)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, size_b), size_b);
    close(fd);
}

static const struct elf_sample_symbol kernels[] = {
    {"Add_f32_10", STT_FUNC, 64, 32}, {"MatMul_4_mix_aic", STT_FUNC, 96, 32}, {"MatMul_4_mix_aiv", STT_FUNC, 128, 32},
    {"g_table", STT_OBJECT, 160, 16}, {"outside", STT_OBJECT, 1 << 30, 16},
};

/* ---- genuine device binaries ---- */
static void device_binary(void **state)
{
    (void)state;
    size_t size_b, addr_b;
    unsigned char *file = elf_sample(kernels, MS_COUNT_OF(kernels), &size_b);
    char name[64], path[600];
    void *addr = NULL, *aic = NULL, *aiv = NULL;
    int64_t type;
    aclrtBinHandle bin = NULL;
    aclrtFuncHandle f = NULL, g = NULL;
    memcpy(file + 160, "table of numbers", 16);
    snprintf(path, sizeof(path), "%s/device.o", folder);
    write_whole(path, file, size_b);
    aclrtBinaryLoadOption option = {.type = ACL_RT_BINARY_LOAD_OPT_MAGIC,
                                    .value.magic = ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE};
    aclrtBinaryLoadOptions options = {&option, 1};
    assert_int_equal(aclrtBinaryLoadFromFile(path, &options, &bin), ACL_SUCCESS);
    assert_int_equal(aclrtBinaryGetFunction(bin, "Add_f32_10", &f), ACL_SUCCESS);
    assert_int_equal(aclrtGetFunctionAttribute(f, ACL_FUNC_ATTR_KERNEL_TYPE, &type), ACL_SUCCESS);
    assert_int_equal(type, ACL_KERNEL_TYPE_VECTOR);
    assert_int_equal(aclrtBinaryGetFunctionByEntry(bin, 10, &g), ACL_SUCCESS);
    assert_ptr_equal(f, g);
    assert_int_equal(aclrtBinaryGetFunctionByEntry(bin, 4, &g), ACL_SUCCESS);
    assert_int_equal(aclrtGetFunctionName(g, sizeof(name), name), ACL_SUCCESS);
    assert_string_equal(name, "MatMul_4");
    check_failed(aclrtBinaryGetFunctionByEntry(bin, 0, &g), ACL_ERROR_RT_KERNEL_LOOKUP);
    assert_int_equal(aclrtGetFunctionAddr(f, &aic, &aiv), ACL_SUCCESS);
    assert_null(aic);
    assert_non_null(aiv);
    assert_int_equal(aclrtBinaryGetDevAddress(bin, &addr, &addr_b), ACL_SUCCESS);
    assert_int_equal(addr_b, size_b);
    assert_memory_equal(addr, file, size_b);
    aclrtPtrAttributes where;
    assert_int_equal(aclrtPointerGetAttributes(addr, &where), ACL_SUCCESS);
    assert_int_equal(where.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
    assert_int_equal(aclrtBinaryGetGlobal(bin, "g_table", &addr, &addr_b), ACL_SUCCESS);
    assert_int_equal(addr_b, 16);
    assert_memory_equal(addr, "table of numbers", 16);
    check_failed(aclrtBinaryGetGlobal(bin, "outside", &addr, &addr_b), ACL_ERROR_RT_SYMBOL_NOT_FOUND);
    /* Runs as a no-op that takes time. */
    uint64_t begin = ms_clock_raw_ns();
    for (int i = 0; i < 20; i++) {
        assert_int_equal(aclrtLaunchKernel(f, 8, NULL, 0, NULL), ACL_SUCCESS);
    }
    assert_int_equal(aclrtSynchronizeStream(NULL), ACL_SUCCESS);
    assert_true(ms_clock_raw_ns() - begin >= 20 * 5000);
    assert_int_equal(aclrtBinaryUnLoad(bin), ACL_SUCCESS);
    free(file);
    /* The copy's device memory is freed. */
    assert_int_equal(used_b(0), 0);
}

/* ---- JSON ---- */
static void json(void **state)
{
    (void)state;
    static const char op[] =
        "{\"binFileName\": \"te_add\", \"kernelName\": \"te_add_main\", \"blockDim\": 8, \"core\": [1, -2.5e3, "
        "{}], \"kernelList\": [{\"kernelName\": \"te_add_0\"}, {\"kernelName\": \"te_add_1\"}], \"x\": null}";
    static const char cpu[] =
        "{ \"AddCpu\": {\"opInfo\": {\"functionName\": \"RunAdd\", \"kernelSo\": \"lib.so\"}},\n \"MulCpu\": {} }";
    aclrtBinHandle bin = NULL;
    aclrtFuncHandle f = NULL;
    char path[600];
    assert_int_equal(aclrtBinaryLoadFromData(op, strlen(op), NULL, &bin), ACL_SUCCESS);
    assert_int_equal(aclrtBinaryGetFunction(bin, "te_add_main", &f), ACL_SUCCESS);
    assert_int_equal(aclrtBinaryGetFunctionByEntry(bin, 1, &f), ACL_SUCCESS);
    assert_int_equal(aclrtLaunchKernel(f, 1, NULL, 0, NULL), ACL_SUCCESS);
    assert_int_equal(aclrtSynchronizeStream(NULL), ACL_SUCCESS);
    check_failed(aclrtBinaryGetFunction(bin, "binFileName", &f), ACL_ERROR_RT_KERNEL_LOOKUP);
    assert_int_equal(aclrtBinaryUnLoad(bin), ACL_SUCCESS);
    assert_int_equal(aclrtBinaryLoadFromData(cpu, strlen(cpu), NULL, &bin), ACL_SUCCESS);
    assert_int_equal(aclrtBinaryGetFunction(bin, "MulCpu", &f), ACL_SUCCESS);
    assert_int_equal(aclrtBinaryUnLoad(bin), ACL_SUCCESS);
    for (size_t n = 1; n < strlen(op); n++) { /* truncated anywhere */
        check_failed(aclrtBinaryLoadFromData(op, n, NULL, &bin), ACL_ERROR_RT_PARAM_INVALID);
    }
    static const char *const wrong[] = {"{}",         "[]",         "{\"a\"}", "{\"a\":}",
                                        "{\"a\":1,}", "{\"a\":1}}", "{\"\\",   "not json"};
    for (size_t i = 0; i < MS_COUNT_OF(wrong); i++) {
        check_failed(aclrtBinaryLoadFromData(wrong[i], strlen(wrong[i]), NULL, &bin), ACL_ERROR_RT_PARAM_INVALID);
    }
    char deep[400];
    memset(deep, '[', sizeof(deep));
    memcpy(deep, "{\"a\":", 5);
    check_failed(aclrtBinaryLoadFromData(deep, sizeof(deep), NULL, &bin), ACL_ERROR_RT_PARAM_INVALID);
    /* Next to the object it describes. */
    snprintf(path, sizeof(path), "%s/pair.so", folder);
    write_whole(path, object, object_b);
    snprintf(path, sizeof(path), "%s/pair.json", folder);
    write_whole(path, op, strlen(op));
    assert_int_equal(aclrtBinaryLoadFromFile(path, NULL, &bin), ACL_SUCCESS);
    assert_int_equal(aclrtBinaryGetFunction(bin, "fill_index", &f), ACL_SUCCESS);
    assert_int_equal(aclrtBinaryUnLoad(bin), ACL_SUCCESS);
}

/* ---- files that are not binaries ---- */
static void wrong_files(void **state)
{
    (void)state;
    aclrtBinHandle bin = NULL;
    char path[600];
    check_failed(aclrtBinaryLoadFromFile("/no/such/kernel.o", NULL, &bin), ACL_ERROR_RT_FILE_OPEN);
    check_failed(aclrtBinaryLoadFromFile("", NULL, &bin), ACL_ERROR_RT_FILE_OPEN);
    check_failed(aclrtBinaryLoadFromFile(folder, NULL, &bin), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtBinaryLoadFromFile("/dev/zero", NULL, &bin), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtBinaryLoadFromFile(NULL, NULL, &bin), ACL_ERROR_INVALID_PARAM);
    snprintf(path, sizeof(path), "%s/empty", folder);
    write_whole(path, "", 0);
    check_failed(aclrtBinaryLoadFromFile(path, NULL, &bin), ACL_ERROR_RT_PARAM_INVALID);
    snprintf(path, sizeof(path), "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    check_failed(aclrtBinaryLoadFromFile(path, NULL, &bin), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtBinaryLoadFromFile("/proc/self/exe", NULL, &bin), ACL_ERROR_RT_PARAM_INVALID); /* an executable */
    check_failed(aclrtBinaryLoadFromData(object, 0, NULL, &bin), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtBinaryLoadFromData(NULL, 10, NULL, &bin), ACL_ERROR_INVALID_PARAM);
    aclrtBinaryLoadOption option = {.type = (aclrtBinaryLoadOptionType)99};
    aclrtBinaryLoadOptions options = {&option, 1};
    check_failed(aclrtBinaryLoadFromData(object, object_b, &options, &bin), ACL_ERROR_RT_PARAM_INVALID);
    options.options = NULL;
    check_failed(aclrtBinaryLoadFromData(object, object_b, &options, &bin), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtBinaryUnLoad(&bin), ACL_ERROR_RT_PARAM_INVALID);
    assert_null(bin);

    aclrtBinary described = aclrtCreateBinary(object, object_b);
    assert_non_null(described);
    assert_int_equal(aclrtBinaryLoad(described, &bin), ACL_SUCCESS);
    assert_int_equal(aclrtDestroyBinary(described), ACL_SUCCESS);
    check_failed(aclrtDestroyBinary(described), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtBinaryLoad(described, &bin), ACL_ERROR_INVALID_PARAM);
    assert_null(aclrtCreateBinary(NULL, 5));
    assert_int_equal(aclrtBinaryUnLoad(bin), ACL_SUCCESS);
}

/* ---- damage ---- */
/* Loads the data, and uses it if it loads. */
static bool try_data(const void *data, size_t size_b)
{
    aclrtBinHandle bin = NULL;
    aclrtFuncHandle f = NULL;
    void *addr;
    size_t addr_b;
    if (aclrtBinaryLoadFromData(data, size_b, NULL, &bin) != ACL_SUCCESS) {
        assert_non_null(snpu_take_message());
        return false;
    }
    aclrtBinaryGetFunction(bin, "Add_f32_10", &f);
    aclrtBinaryGetFunctionByEntry(bin, 4, &f);
    aclrtBinaryGetGlobal(bin, "g_table", &addr, &addr_b);
    assert_int_equal(aclrtBinaryUnLoad(bin), ACL_SUCCESS);
    return true;
}

static void truncated(void **state)
{
    (void)state;
    size_t size_b;
    unsigned char *file = elf_sample(kernels, MS_COUNT_OF(kernels), &size_b);
    for (size_t n = 1; n < size_b; n++) {
        unsigned char *cut = malloc(n); /* a block of its own, so that reading beyond it is detected */
        memcpy(cut, file, n);
        assert_false(try_data(cut, n));
        free(cut);
    }
    assert_true(try_data(file, size_b));
    free(file);
    /* The shared object, truncated at every byte near its tables and in steps elsewhere. */
    struct snpu_elf elf;
    const char *why;
    assert_int_equal(snpu__elf_open(&elf, object, object_b, &why), 0);
    assert_int_equal(snpu__elf_check_loadable(&elf, &why), 0);
    for (size_t n = 1; n < object_b; n += n < 1024 || n + 8192 > object_b ? 1 : 61) {
        unsigned char *cut = malloc(n);
        memcpy(cut, object, n);
        assert_false(try_data(cut, n)); /* section headers are at the end */
        /* Without section headers, only the loader's tables matter. */
        if (n >= sizeof(Elf64_Ehdr)) {
            memset(cut + offsetof(Elf64_Ehdr, e_shoff), 0, 8);
            memset(cut + offsetof(Elf64_Ehdr, e_shnum), 0, 4);
            if (snpu__elf_open(&elf, cut, n, &why) == 0) {
                snpu__elf_check_loadable(&elf, &why);
            }
        }
        free(cut);
    }
}

/* Flips bytes in every table of a shared object; the check must survive, and what passes must load or be refused. Only
 * bytes outside the code are changed: code is not checked, as for any library. */
static void flipped(void **state)
{
    (void)state;
    uint64_t random = 0x2545f4914f6cdd1du;
    unsigned char *copy = malloc(object_b);
    struct snpu_elf elf;
    const char *why;
    size_t refused = 0;
    for (int i = 0; i < 60000; i++) {
        memcpy(copy, object, object_b);
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        size_t flips = 1 + random % 3;
        for (size_t k = 0; k < flips; k++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            copy[(random >> 8) % object_b] ^= (unsigned char)(1u << (random & 7));
        }
        refused += snpu__elf_open(&elf, copy, object_b, &why) != 0 || snpu__elf_check_loadable(&elf, &why) != 0;
    }
    assert_true(refused > 100);
    free(copy);
}

static Elf64_Shdr section_of(uint32_t type)
{
    Elf64_Ehdr head;
    Elf64_Shdr section = {0};
    memcpy(&head, object, sizeof(head));
    for (uint32_t i = 0; i < head.e_shnum; i++) {
        memcpy(&section, object + head.e_shoff + i * sizeof(section), sizeof(section));
        if (section.sh_type == type) {
            return section;
        }
    }
    fail_msg("no section of type %u", type);
    return section;
}

static size_t segment_with(uint32_t flags)
{
    Elf64_Ehdr head;
    memcpy(&head, object, sizeof(head));
    for (uint32_t i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, object + head.e_phoff + i * sizeof(segment), sizeof(segment));
        if (segment.p_type == PT_LOAD && (segment.p_flags & flags) == flags) {
            return head.e_phoff + i * sizeof(segment);
        }
    }
    fail_msg("no segment with flags %u", flags);
    return 0;
}

static size_t undefined_symbol(void)
{
    Elf64_Shdr table = section_of(SHT_DYNSYM);
    for (size_t at = table.sh_offset + sizeof(Elf64_Sym);; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, object + at, sizeof(symbol));
        if (symbol.st_shndx == SHN_UNDEF) {
            return at;
        }
    }
}

static size_t relocation_of(bool relative)
{
    Elf64_Shdr table = section_of(SHT_RELA);
    for (size_t at = table.sh_offset;; at += sizeof(Elf64_Rela)) {
        Elf64_Rela rela;
        memcpy(&rela, object + at, sizeof(rela));
        if ((ELF64_R_SYM(rela.r_info) == 0) == relative) {
            return at;
        }
    }
}

/* Single bytes, each of which once crashed the loader. */
static void wrong_tables_are_refused(void **state)
{
    (void)state;
    size_t needs = section_of(SHT_GNU_verneed).sh_offset;
    size_t code_b = segment_with(PF_X) + offsetof(Elf64_Phdr, p_filesz);
    code_b += object[code_b] == 0; /* a byte that can be decreased */
    const struct {
        size_t at;
        unsigned char flip;
        const char *why;
    } lies[] = {
        {segment_with(PF_R) + offsetof(Elf64_Phdr, p_flags), PF_R, "a segment is unreadable or incomplete"},
        {code_b, object[code_b] ^ (object[code_b] - 1), "a segment is unreadable or incomplete"},
        {undefined_symbol() + offsetof(Elf64_Sym, st_other), STV_HIDDEN, "an undefined symbol is hidden"},
        {needs + offsetof(Elf64_Verneed, vn_file), 1, "bad version needs"},
        {needs + sizeof(Elf64_Verneed) + offsetof(Elf64_Vernaux, vna_next), 16, "bad version needs"},
        {relocation_of(true) + offsetof(Elf64_Rela, r_addend), 1, "an initialiser lies outside the code"},
        {relocation_of(false) + offsetof(Elf64_Rela, r_offset), 1, "a relocation straddles two addresses"},
    };
    unsigned char *copy = malloc(object_b);
    for (size_t i = 0; i < MS_COUNT_OF(lies); i++) {
        struct snpu_elf elf;
        const char *why = "";
        memcpy(copy, object, object_b);
        copy[lies[i].at] ^= lies[i].flip;
        assert_int_equal(snpu__elf_open(&elf, copy, object_b, &why), 0);
        assert_int_equal(snpu__elf_check_loadable(&elf, &why), -EINVAL);
        assert_string_equal(why, lies[i].why);
    }
    free(copy);
}

static void random_bytes(void **state)
{
    (void)state;
    uint64_t random = 0x853c49e6748fea9bu;
    for (int i = 0; i < 5000; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        size_t n = 1 + random % 700, sample_b;
        unsigned char *data = malloc(n), *sample = elf_sample(kernels, MS_COUNT_OF(kernels), &sample_b);
        for (size_t k = 0; k < n; k++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            data[k] = (unsigned char)random;
        }
        try_data(data, n);
        memcpy(data, sample, n < 64 ? n : 64); /* a header that promises what is missing */
        try_data(data, n);
        size_t at = random % sample_b; /* and a file with one wrong range */
        for (size_t k = 0; k < 8 && k < n && at + k < sample_b; k++) {
            sample[at + k] = data[k];
        }
        try_data(sample, sample_b);
        free(data);
        free(sample);
    }
}

static int set_up(void **state)
{
    (void)state;
    char path[600];
    snprintf(path, sizeof(path), "%s/tests/unit/plain_kernels.so", getenv("NPUSCOPE_BUILD"));
    object = read_whole(path, &object_b);
    snprintf(folder, sizeof(folder), "/tmp/rt_binary.XXXXXX");
    return mkdtemp(folder) == NULL || snpu_device_set("test", 0) != 0;
}

static int tear_down(void **state)
{
    (void)state;
    static const char *const made[] = {"device.o", "pair.so", "pair.json", "empty", "fifo"};
    for (size_t i = 0; i < MS_COUNT_OF(made); i++) {
        char path[600];
        snprintf(path, sizeof(path), "%s/%s", folder, made[i]);
        unlink(path);
    }
    free(object);
    return rmdir(folder);
}

int main(void)
{
    hal_use_machine("1", "1G");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_binary), cmocka_unit_test(json),    cmocka_unit_test(wrong_files),
        cmocka_unit_test(truncated),     cmocka_unit_test(flipped), cmocka_unit_test(wrong_tables_are_refused),
        cmocka_unit_test(random_bytes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
