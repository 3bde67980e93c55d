/* SPDX-License-Identifier: Apache-2.0 */
/* Reading dumps: cells, rows, order, damaged files, and conversion back to events.
 *
 * Cases of tests/model are dumped as CSV and as databases, read and dumped again: nothing may change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/macros.h"
#include "memscope/export/dump.h"
#include "memscope/source/source.h"
#include "model_case.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER                                                                                                         \
    "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),Call Stack(C)\n"

/* ---- files ---- */

static char directory[64];

static int make_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/source_test.XXXXXX");
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status, (void)type, (void)ftw;
    return remove(path);
}

static int remove_directory(void **state)
{
    (void)state;
    return nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *write_file(const char *name, const char *bytes, size_t bytes_b)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, bytes_b, file), bytes_b);
    fclose(file);
    return path;
}

static const char *write_text(const char *name, const char *text)
{
    return write_file(name, text, strlen(text));
}

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = NULL;
    size_t size = 0;
    ssize_t n = getdelim(&text, &size, 0, file);
    fclose(file);
    return n >= 0 ? text : strdup("");
}

/* ---- rows ---- */

struct seen {
    char text[8192];
    size_t used;
    uint64_t rows, slices, problems;
    struct ms_source *source;
    const struct ms_source_wish *wish;
    int stop_after;
};

static void add(struct seen *seen, const char *format, ...) MS_PRINTF(2, 3);

static void add(struct seen *seen, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (seen->used < sizeof(seen->text)) {
        seen->used += (size_t)vsnprintf(seen->text + seen->used, sizeof(seen->text) - seen->used, format, args);
    }
    va_end(args);
}

static int see_row(void *self, const struct ms_row *row)
{
    struct seen *seen = self;
    seen->rows++;
    add(seen, "%llu %s %s", (unsigned long long)row->id, ms_event_name(row->event), ms_type_name(row->type));
    if (row->name.length_b != 0) {
        add(seen, " '%.*s'", (int)row->name.length_b, row->name.s);
    }
    for (uint32_t i = 0; i < row->attr_count; i++) {
        const struct ms_attr *attr = &row->attr[i];
        bool other = attr->key == MS_ATTR_OTHER;
        const char *key = other ? attr->other_key : ms_attr_name(attr->key);
        add(seen, " %.*s=", (int)(other ? attr->other_key_b : strlen(key)), key);
        if (attr->form == MS_FORM_TEXT) {
            add(seen, "%.*s", (int)attr->text.length_b, attr->text.s);
        } else {
            add(seen, attr->form == MS_FORM_ADDR ? "0x%llx" : "%llu", (unsigned long long)attr->number);
        }
    }
    if (row->c_stack != 0) {
        struct ms_stack_source stacks = ms_source_stacks(seen->source);
        struct ms_text text = stacks.c_stack(stacks.self, row->c_stack);
        add(seen, " C(%.*s)", (int)text.length_b, text.s);
    }
    if (row->python_stack != 0) {
        add(seen, row->python_stack == MS_STACK_NO_GIL ? " NA" : " P");
    }
    add(seen, "\n");
    return seen->stop_after != 0 && --seen->stop_after == 0 ? 77 : 0;
}

static int see_slice(void *self, const struct ms_slice *slice)
{
    struct seen *seen = self;
    seen->slices++;
    add(seen, "slice %.*s %llu %llu\n", (int)slice->function.length_b, slice->function.s,
        (unsigned long long)slice->start_ns, (unsigned long long)slice->end_ns);
    return 0;
}

static void see_problem(void *self, const struct ms_problem *problem)
{
    struct seen *seen = self;
    const char *slash = strrchr(problem->file, '/');
    seen->problems++;
    add(seen, "! %s:%llu: %s%s\n", slash != NULL ? slash + 1 : problem->file,
        (unsigned long long)(problem->line != 0 ? problem->line : problem->offset), problem->reason,
        problem->lost ? "" : " (remark)");
}

static struct seen seen;

static int read_rows(const char *path, enum ms_source_order order, struct ms_source_stats *stats)
{
    struct ms_source_options options = {.wish = seen.wish, .problem = see_problem, .argument = &seen};
    struct ms_consumer consumer = {.self = &seen, .on_row = see_row, .on_slice = see_slice};
    seen.used = 0;
    seen.text[0] = 0;
    seen.rows = seen.slices = seen.problems = 0;
    int rc = ms_source_open(path, &options, &seen.source);
    for (size_t i = 0; rc == 0 && i < ms_source_count(seen.source); i++) {
        rc = ms_source_rows(seen.source, i, order, &consumer);
    }
    if (stats != NULL && seen.source != NULL) {
        ms_source_stats(seen.source, stats);
    }
    ms_source_close(seen.source);
    seen.source = NULL;
    return rc;
}

static void test_rows(void **state)
{
    (void)state;
    const char *path = write_text(
        "a.csv",
        HEADER "1,MALLOC,HAL,N/A,100,7,8,0,0x0000120000000000,\"{allocation_id:1,addr:0x0000120000000000,size:2097152,"
               "page_type:normal,alloc_type:alloc}\",,\"lib.so(f+0x1) [0x2]\nmain\n\"\n"
               "2,ACCESS,READ,aten.mm,101,7,8,0,0x0000120000000000,\"{allocation_id:1,addr:0x0000120000000000,size:2,"
               "type:PTA,dtype:torch.float16,shape:torch.Size([1, 5])}\",\"NA\",\n"
               "3,MSTX,Mark,\"a \"quoted\" mark\",102,7,8,N/A,N/A,,,\n"
               "4,MALLOC,PTA,N/A,103,7,8,cpu,0x1,\"{size:5,inefficient:early_allocation,late_deallocation,x:a:b}\",,\n"
               "5,KERNEL_LAUNCH,KERNEL_EXECUTE_END,K<a,b>,104,N/A,N/A,1,N/A,\"{streamId:3,taskId:17}\",,\n");
    assert_int_equal(read_rows(path, MS_ORDER_AS_WRITTEN, NULL), 0);
    assert_string_equal(
        seen.text, "1 MALLOC HAL allocation_id=1 addr=0x120000000000 size=2097152 page_type=normal alloc_type=alloc "
                   "C(lib.so(f+0x1) [0x2]\nmain\n)\n"
                   "2 ACCESS READ 'aten.mm' allocation_id=1 addr=0x120000000000 size=2 type=PTA dtype=torch.float16 "
                   "shape=torch.Size([1, 5]) NA\n"
                   "3 MSTX Mark 'a \"quoted\" mark'\n"
                   "4 MALLOC PTA size=5 inefficient_type=early_allocation,late_deallocation x=a:b\n"
                   "5 KERNEL_LAUNCH KERNEL_EXECUTE_END 'K<a,b>' streamId=3 taskId=17\n");
}

/* A caller that needs few columns gets those, with the same errors; an address that is only in the attributes is always
 * found, and attributes beyond the capacity of a row are not found by requesting fewer. */
static void test_wishes(void **state)
{
    (void)state;
    static const struct ms_source_wish wish = {.attrs[MS_EV_MALLOC] = MS_WISH(SIZE) | MS_WISH(TOTAL)};
    char rows[2048], many[512] = "";
    for (unsigned i = 0; i < MS_ROW_ATTRS_MAX; i++) {
        snprintf(many + strlen(many), sizeof(many) - strlen(many), "k%u:v,", i);
    }
    snprintf(rows, sizeof(rows),
             HEADER "1,MALLOC,HAL,N/A,100,7,8,0,0x10,\"{allocation_id:1,size:5,size:6,total:7,used:8}\",NA,f\n"
                    "2,FREE,HAL,N/A,101,7,8,0,N/A,\"{addr:0x0000000000000010,size:5}\",,\n"
                    "3,MALLOC,HAL,N/A,x,7,8,0,0x10,\"{size:5}\",,\n"
                    "4,MALLOC,HAL,N/A,102,7,8,0,0x10,\"{\"\"used\"\":\"\"1\"\",\"\"size\"\":\"\"5\"\"}\",,\n"
                    "5,MALLOC,HAL,N/A,103,7,8,0,0x10,\"{%ssize:5}\",,\n"
                    "6,MALLOC,HAL,N/A,103,7,8,0,0x10,\"{%ssize:5}\",,\n",
             many, strchr(many, ',') + 1);
    seen.wish = &wish;
    assert_int_equal(read_rows(write_text("wish.csv", rows), MS_ORDER_ID, NULL), 0);
    seen.wish = NULL;
    assert_string_equal(seen.text, "! wish.csv:4: Timestamp(ns) is not a number: 'x'\n"
                                   "1 MALLOC HAL size=5 total=7\n"
                                   "2 FREE HAL addr=0x10\n"
                                   "4 MALLOC HAL size=5\n"
                                   "5 MALLOC HAL\n"
                                   "6 MALLOC HAL size=5\n");
}

static void test_other_headers(void **state)
{
    (void)state;
    /* documented spelling, other order, no stacks, an extra column, CR LF */
    assert_int_equal(read_rows(write_text("b.csv", "Event Type,Event,Thread ID,Timestamp(ns),More,Device ID,ID,Name\r\n"
                                                   "MindSpore,MALLOC,1,5,x,0,9,N/A\r\n"),
                               MS_ORDER_ID, NULL),
                     0);
    assert_string_equal(seen.text, "9 MALLOC MINDSPORE\n");
}

static void test_bad_files(void **state)
{
    (void)state;
    struct ms_source_stats stats;
    assert_int_equal(read_rows("/nonexistent/x.csv", MS_ORDER_ID, NULL), -ENOENT);
    assert_string_equal(seen.text, "! x.csv:0: No such file or directory\n");
    assert_int_equal(read_rows(write_text("c.csv", ""), MS_ORDER_ID, NULL), -EPROTO);
    assert_string_equal(seen.text, "! c.csv:1: the file is empty\n");
    assert_int_equal(read_rows(write_text("c.csv", "Name,Size(KB)\na,1\n"), MS_ORDER_ID, NULL), -EPROTO);
    assert_string_equal(seen.text, "! c.csv:1: not a msmemscope dump; the first line begins with 'Name'\n");
    assert_int_equal(read_rows(write_text("c.db", "hello"), MS_ORDER_ID, NULL), -EPROTO);
    assert_string_equal(seen.text, "! c.db:0: not a database\n");
    assert_int_equal(read_rows(write_text("c.txt", "hello"), MS_ORDER_ID, NULL), -ENOENT);
    assert_int_equal(read_rows(write_text("c.csv", HEADER), MS_ORDER_ID, &stats), 0);
    assert_true(seen.rows == 0 && !stats.partial);

    const char *path = write_text("c.csv", HEADER "1,MSTX,Mark,\"a\",1,7,7,0,N/A,,,\n"
                                                  "x,MSTX,Mark,\"b\",2,7,7,0,N/A,,,\n"
                                                  "3,CLEAN_UP,PROC_EXIT,N/A,2,7,7,0,N/A,,,\n"
                                                  "4,MSTX,Mark\n"
                                                  "5,MSTX,Mark,\"c\",3,7,7,0,N/A,,,\n"
                                                  "6,MSTX,Mark,\"d");
    assert_int_equal(read_rows(path, MS_ORDER_ID, &stats), 0);
    assert_string_equal(seen.text,
                        "! c.csv:3: ID is not a number: 'x'\n"
                        "! c.csv:4: Event 'CLEAN_UP' is unknown to this version; such rows are skipped (remark)\n"
                        "! c.csv:5: the number of cells differs from the header\n"
                        "! c.csv:7: the file ends in the middle of this row\n"
                        "1 MSTX Mark 'a'\n5 MSTX Mark 'c'\n");
    assert_true(stats.partial && stats.bad_rows == 3 && stats.unknown_rows == 1);
    seen.stop_after = 1;
    assert_int_equal(read_rows(path, MS_ORDER_ID, NULL), 77);
}

/* Rows in the order of frees, as the original writes them, in two files of one process and next to calls. */
static void test_order(void **state)
{
    (void)state;
    char path[128];
    for (int device = 0; device < 2; device++) {
        snprintf(path, sizeof(path), "%s/run", directory);
        mkdir(path, 0700);
        snprintf(path, sizeof(path), "%s/run/device_%d", directory, device);
        mkdir(path, 0700);
        strcat(path, "/dump");
        mkdir(path, 0700);
    }
    write_text("run/device_0/dump/memscope_dump_1.csv",
               HEADER "4,MSTX,Mark,\"d\",40,7,7,0,N/A,,,\n2,MSTX,Mark,\"b\",20,7,7,0,N/A,,,\n"
                      "0,SYSTEM,ACL_INIT,N/A,1,7,7,N/A,N/A,,,\n");
    write_text("run/device_1/dump/memscope_dump_2.csv",
               HEADER "3,MSTX,Mark,\"c\",15,7,7,1,N/A,,,\n0,SYSTEM,ACL_INIT,N/A,1,7,7,N/A,N/A,,,\n");
    write_text("run/device_1/dump/python_trace_7_3.csv",
               "FuncInfo,StartTime(ns),EndTime(ns),Thread Id,Process Id\nf(a,b),16,N/A,7,7\ng,50,60,7,7\n");
    snprintf(path, sizeof(path), "%s/run", directory);
    assert_int_equal(read_rows(path, MS_ORDER_ID, NULL), 0);
    assert_string_equal(seen.text, "0 SYSTEM ACL_INIT\nslice f(a,b) 16 0\n2 MSTX Mark 'b'\n3 MSTX Mark 'c'\n"
                                   "4 MSTX Mark 'd'\nslice g 50 60\n");
    assert_int_equal(read_rows(path, MS_ORDER_TIME, NULL), 0);
    assert_string_equal(seen.text, "0 SYSTEM ACL_INIT\n3 MSTX Mark 'c'\nslice f(a,b) 16 0\n2 MSTX Mark 'b'\n"
                                   "4 MSTX Mark 'd'\nslice g 50 60\n");
    assert_int_equal(read_rows(path, MS_ORDER_AS_WRITTEN, NULL), 0);
    assert_int_equal(seen.rows, 5);
}

/* ---- sorting with little memory ---- */

struct order_check {
    uint64_t rows, last;
    bool broken;
};

static int check_order(void *self, const struct ms_row *row)
{
    struct order_check *check = self;
    char name[32];
    snprintf(name, sizeof(name), "kernel %llu", (unsigned long long)row->id);
    check->broken = check->broken || row->id != check->last + 1 || row->name.length_b != strlen(name) ||
                    memcmp(row->name.s, name, row->name.length_b) != 0;
    check->last = row->id;
    check->rows++;
    return 0;
}

static void sort_file(const char *path, uint64_t rows, bool spills)
{
    struct ms_source *source;
    struct ms_source_options options = {.memory_b = 100000};
    struct order_check check = {0};
    struct ms_consumer consumer = {.self = &check, .on_row = check_order};
    struct ms_source_stats stats;
    assert_int_equal(ms_source_open(path, &options, &source), 0);
    assert_int_equal(ms_source_rows(source, 0, MS_ORDER_ID, &consumer), 0);
    ms_source_stats(source, &stats);
    assert_int_equal(check.rows, rows);
    assert_false(check.broken);
    assert_int_equal(stats.spilled_b != 0, spills);
    ms_source_close(source);
}

static void test_spilling(void **state)
{
    (void)state;
    const uint64_t rows = 20000;
    for (int shuffled = 0; shuffled < 3;
         shuffled++) { /* in order; shuffled everywhere; shuffled only after the part that fits into memory */
        char path[128];
        snprintf(path, sizeof(path), "%s/s.csv", directory);
        FILE *file = fopen(path, "w");
        fputs(HEADER, file);
        for (uint64_t i = 0; i < rows; i++) {
            uint64_t id = shuffled == 1 ? (i * 7919) % rows + 1 : i + 1;
            if (shuffled == 2 && i >= rows - 2) {
                id = i == rows - 2 ? rows : rows - 1;
            }
            fprintf(file, "%llu,KERNEL_LAUNCH,KERNEL_LAUNCH,kernel %llu,%llu,7,7,0,N/A,,,\n", (unsigned long long)id,
                    (unsigned long long)id, (unsigned long long)id);
        }
        fclose(file);
        sort_file(path, rows, shuffled != 0);
    }
}

/* ---- databases ---- */

static void make_db(const char *path, const char *sql)
{
    sqlite3 *db;
    unlink(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    char *why = NULL;
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, &why), SQLITE_OK);
    sqlite3_close(db);
}

#define TABLE(name)                                                                                                    \
    "CREATE TABLE " name " (\"ID\" INTEGER, \"Event\" TEXT, \"Event Type\" TEXT, \"Name\" TEXT, \"Timestamp(ns)\" "    \
    "INTEGER, \"Process Id\" INTEGER, \"Thread Id\" INTEGER, \"Device Id\" TEXT, \"Ptr\" TEXT, \"Attr\" TEXT, "        \
    "\"Call Stack(C)\" TEXT);"

static void test_databases(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof(path), "%s/d%%23?.db", directory);
    make_db(
        path,
        "PRAGMA journal_mode=WAL;" TABLE(
            "leaks_dump") "INSERT INTO leaks_dump VALUES (2, 'MSTX', 'Mark', '\"b\"', 20, 7, 7, '0', 'N/A', '{}', '');"
                          "INSERT INTO leaks_dump VALUES (1, 'MALLOC', 'PTA', 'N/A', 10, 7, 7, '0', '0x10', "
                          "'{\"allocation_id\":\"1\",\"addr\":\"0x0000000000000010\",\"size\":\"8\",\"k\\\"\":\"a\\\\b\"}', "
                          "'\"f\n\"');"
                          "CREATE TABLE python_trace_7 (\"FuncInfo\" TEXT, \"StartTime(ns)\" TEXT, \"EndTime(ns)\" TEXT, "
                          "\"Thread Id\" INTEGER, \"Process Id\" INTEGER);"
                          "INSERT INTO python_trace_7 VALUES ('f', '15', '16', 7, 7);");
    assert_int_equal(read_rows(path, MS_ORDER_ID, NULL), 0);
    assert_string_equal(seen.text, "1 MALLOC PTA allocation_id=1 addr=0x10 size=8 k\"=a\\b C(f\n)\nslice f 15 16\n"
                                   "2 MSTX Mark 'b'\n");
    DIR *dir = opendir(directory); /* nothing was left next to it */
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        assert_null(strstr(entry->d_name, "-shm"));
    }
    closedir(dir);
    snprintf(path, sizeof(path), "%s/o.db", directory);
    make_db(path, "CREATE TABLE other (a)");
    assert_int_equal(read_rows(path, MS_ORDER_ID, NULL), -EPROTO);
}

/* A database that ends in the middle of a page yields everything before. */
static void test_truncated_database(void **state)
{
    (void)state;
    char path[128];
    struct ms_source_stats stats;
    snprintf(path, sizeof(path), "%s/cut.db", directory);
    make_db(path,
            TABLE("memscope_dump") "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
                                   "INSERT INTO memscope_dump SELECT i, 'MSTX', 'Mark', '\"mark\"', i, 7, 7, '0', "
                                   "'N/A', '{}', '' FROM n;");
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    uint64_t before = 5000;
    for (int part = 9; part > 0; part--) { /* a part of a page is left at each of these places, with zeroed cells */
        assert_int_equal(truncate(path, st.st_size * part / 10 / 4096 * 4096 + 100 + 400 * part), 0);
        assert_int_equal(read_rows(path, MS_ORDER_ID, &stats), 0);
        assert_true(stats.partial);
        assert_in_range(stats.rows, (uint64_t)(part - 1) * 450, before);
        before = stats.rows;
    }
    assert_int_equal(truncate(path, 60), 0);
    assert_int_equal(read_rows(path, MS_ORDER_ID, &stats), -EPROTO);
    seen.used = 0;
}

/* ---- round trip ---- */

static struct ms_dump *open_dump(const char *dir, struct ms_source *source, const struct ms_model *model,
                                 enum ms_dump_format format)
{
    struct ms_dump *dump;
    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    struct ms_dump_options options = {
        .dirfd = fd, .dir = dir, .format = format, .model = model, .stacks = ms_source_stacks(source)};
    assert_int_equal(ms_dump_open(&options, &dump), 0);
    close(fd);
    return dump;
}

static char *one_dump(const char *dir, unsigned device)
{
    char pattern[320];
    glob_t found;
    snprintf(pattern, sizeof(pattern), "%s/device_%u/dump/memscope_dump_*.csv", dir, device);
    char *text = glob(pattern, 0, NULL, &found) == 0 ? read_whole(found.gl_pathv[0]) : strdup("");
    globfree(&found);
    return text;
}

static void check_case(const char *path)
{
    struct model_case c;
    assert_int_equal(case_read(path, &c), 0);
    struct case_result csv;
    assert_int_equal(case_run(&c, MS_DUMP_CSV, SIZE_MAX, &csv), 0);
    for (int format = 0; format < 2; format++) {
        struct case_result result;
        assert_int_equal(case_run(&c, (enum ms_dump_format)format, SIZE_MAX, &result), 0);
        struct ms_source *source;
        struct ms_source_options options = {.problem = see_problem, .argument = &seen};
        seen.problems = 0;
        int rc = ms_source_open(result.dir, &options, &source);
        if (rc == 0) {
            char copy[128];
            snprintf(copy, sizeof(copy), "%s/copy", directory);
            mkdir(copy, 0700);
            struct ms_dump *dump = open_dump(copy, source, NULL, MS_DUMP_CSV);
            struct ms_consumer consumer = ms_dump_consumer(dump);
            assert_int_equal(ms_source_count(source), 1);
            assert_int_equal(ms_source_rows(source, 0, MS_ORDER_ID, &consumer), 0);
            assert_int_equal(ms_dump_close(dump), 0);
            for (unsigned device = 0; device < 4; device++) {
                char *before = one_dump(csv.dir, device), *after = one_dump(copy, device);
                assert_string_equal(after, before);
                free(before);
                free(after);
            }
            nftw(copy, remove_one, 16, FTW_DEPTH | FTW_PHYS);
            ms_source_close(source);
        }
        assert_int_equal(seen.problems, rc == 0 ? 0 : 1); /* cases without rows produce no dump */
        case_result_free(&result);
    }
    case_result_free(&csv);
    case_free(&c);
}

static void test_copies_are_equal(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob(MODEL_CASES "/*.txt", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        check_case(found.gl_pathv[i]);
    }
    globfree(&found);
}

/* ---- back to events ---- */

struct replay {
    const char *dir;
    struct ms_source *source;
    struct ms_dump *dump;
    struct ms_model_stats stats;
};

static int begin_model(void *argument, uint32_t pid, struct ms_model *model)
{
    struct replay *replay = argument;
    (void)pid;
    replay->dump = open_dump(replay->dir, replay->source, model, MS_DUMP_CSV);
    struct ms_consumer consumer = ms_dump_consumer(replay->dump);
    return ms_model_add(model, &consumer);
}

static int end_model(void *argument, uint32_t pid, struct ms_model *model)
{
    struct replay *replay = argument;
    (void)pid;
    ms_model_stats(model, &replay->stats);
    return ms_dump_close(replay->dump);
}

static struct ms_model_stats feed(const char *path, const char *out)
{
    struct replay replay = {.dir = out};
    struct ms_source_listener listener = {.argument = &replay, .begin = begin_model, .end = end_model};
    struct ms_model_options options = MS_MODEL_OPTIONS_DEFAULT;
    options.events = MS_WANT_ALLOC | MS_WANT_FREE | MS_WANT_LAUNCH | MS_WANT_ACCESS;
    options.levels = MS_WANT_OP | MS_WANT_KERNEL;
    options.analysis = MS_ANALYSIS_DECOMPOSE;
    options.cpu = true;
    assert_int_equal(ms_source_open(path, NULL, &replay.source), 0);
    assert_int_equal(ms_source_feed(replay.source, 0, &options, &listener), 0);
    ms_source_close(replay.source);
    return replay.stats;
}

/* Every kind of row, in the order of the original; fed through the model it comes out the same, in order. */
static void test_events(void **state)
{
    (void)state;
    static const char rows[] = HEADER
        "0,SYSTEM,ACL_INIT,N/A,1,7,7,N/A,N/A,,,\n"
        "1,MSTX,Range_start,\"step start\",10,7,7,0,N/A,,,\n"
        "2,MALLOC,HAL,N/A,20,7,7,0,0x0000000000001000,\"{allocation_id:1,addr:0x0000000000001000,size:4096,used:4096,"
        "owner:CANN@RUNTIME,page_type:huge,alloc_type:create}\",,\n"
        "3,MALLOC,PTA,N/A,30,7,8,0,0x0000000000001000,\"{allocation_id:2,addr:0x0000000000001000,size:512,total:4096,"
        "used:512,owner:PTA@model@weight@mine}\",,\"frame\n\"\n"
        "4,OP_LAUNCH,ATEN_START,aten.mm,40,7,8,0,N/A,,,\n"
        "5,ACCESS,WRITE,aten.mm,50,7,8,0,0x0000000000001010,\"{allocation_id:2,addr:0x0000000000001010,size:16,"
        "type:PTA,dtype:torch.float32,shape:torch.Size([2, 2])}\",,\n"
        "6,OP_LAUNCH,ATEN_END,aten.mm,60,7,8,0,N/A,,,\n"
        "7,OP_LAUNCH,ATB_START,Op,70,7,8,0,N/A,\"{path:0_7/2/0_Op,workspace_ptr:0x1230,workspace_size:64}\",,\n"
        "8,OP_LAUNCH,ATB_END,Op,80,7,8,0,N/A,\"{path:0_7/2/0_Op,workspace_ptr:(nil),workspace_size:0}\",,\n"
        "9,KERNEL_LAUNCH,KERNEL_LAUNCH,MatMul,90,7,8,0,N/A,\"{streamId:3,taskId:17}\",,\n"
        "10,KERNEL_LAUNCH,KERNEL_START,AddKernel,100,7,8,0,N/A,\"{path:a/0_AddKernel/before}\",,\n"
        "11,FREE,PTA,N/A,110,7,8,0,0x0000000000001000,\"{allocation_id:2,addr:0x0000000000001000,size:512,total:4096,"
        "used:0}\",,\n"
        "12,FREE,HAL,N/A,120,7,7,0,0x0000000000001000,\"{allocation_id:1,addr:0x0000000000001000,size:4096,used:0}\",,\n"
        "13,MSTX,Range_end,\"Range end from id 1\",130,7,7,0,N/A,,,\n"
        "14,MALLOC,ATB,N/A,140,7,8,0,0x0000000000002000,\"{allocation_id:3,addr:0x0000000000002000,size:1,total:9,used:1,"
        "owner:ATB}\",,\n"
        "15,SYSTEM,STEP,2,150,7,7,N/A,N/A,,,\n"
        "16,FREE,ATB,N/A,151,7,7,0,0x0000000000002000,\"{allocation_id:3,addr:0x0000000000002000,size:1,shadow:true}\",,\n";
    char out[128];
    snprintf(out, sizeof(out), "%s/fed", directory);
    mkdir(out, 0700);
    const char *path = write_text("fed.csv", rows);
    struct ms_model_stats stats = feed(path, out);
    char *text = one_dump(out, 0);
    assert_string_equal(text, rows);
    free(text);
    assert_int_equal(stats.unmatched_frees, 0);
    assert_int_equal(stats.blocks, 3);
    nftw(out, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int keep_ids(void *self, const struct ms_row *row)
{
    struct seen *all = self;
    add(all, "%llu %s\n", (unsigned long long)row->id, ms_type_name(row->type));
    return 0;
}

static int watch_ids(void *argument, uint32_t pid, struct ms_model *model)
{
    (void)pid;
    struct ms_consumer consumer = {.self = argument, .on_row = keep_ids};
    return ms_model_add(model, &consumer);
}

/* Rows that the model adds (details of a failed allocation, blocks live at the end) do not reuse ids of the dump. */
static void test_ids_are_kept(void **state)
{
    (void)state;
    const char *path = write_text(
        "ids.csv",
        HEADER "10,MALLOC,HAL,N/A,20,7,7,0,0x1000,\"{allocation_id:1,size:4096,page_type:normal,alloc_type:alloc}\",,\n"
               "20,OOM_DETAIL,OOM_TRIGGER,OOM_Trigger,30,7,7,0,N/A,\"{func:halMemAlloc,req_size:9,flag:0}\",,\n"
               "21,MSTX,Mark,\"a\",40,7,7,0,N/A,,,\n"
               "40,MSTX,Mark,\"b\",50,7,7,0,N/A,,,\n");
    struct ms_source *source;
    struct ms_source_listener listener = {.argument = &seen, .begin = watch_ids};
    struct ms_model_options options = MS_MODEL_OPTIONS_DEFAULT;
    options.analysis = MS_ANALYSIS_OOM;
    seen.used = 0;
    assert_int_equal(ms_source_open(path, NULL, &source), 0);
    assert_int_equal(ms_source_feed(source, 0, &options, &listener), 0);
    ms_source_close(source);
    assert_string_equal(seen.text, "10 HAL\n20 OOM_TRIGGER\n20 OOM_RECENT_ALLOC\n20 OOM_TOP_ALLOC\n21 Mark\n40 Mark\n"
                                   "41 HAL\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wishes),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_other_headers),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_spilling),
        cmocka_unit_test(test_databases),
        cmocka_unit_test(test_truncated_database),
        cmocka_unit_test(test_copies_are_equal),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_ids_are_kept),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
