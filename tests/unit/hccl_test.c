/* SPDX-License-Identifier: Apache-2.0 */
/* libhccl.so as programs use it: operations on streams between processes, between devices of a process, in models. */
#include "hccl_ranks.h"

#include "toolchain/prof_api.h"

#include <pthread.h>
#include <sys/syscall.h>

static void every_collective(struct rank *r)
{
    static const uint32_t types[] = {HCCL_DATA_TYPE_FP32, HCCL_DATA_TYPE_FP16,  HCCL_DATA_TYPE_BFP16,
                                     HCCL_DATA_TYPE_INT8, HCCL_DATA_TYPE_INT32, HCCL_DATA_TYPE_INT64,
                                     HCCL_DATA_TYPE_FP64, HCCL_DATA_TYPE_UINT16};
    static const uint64_t counts[] = {1, 1000, 9001};
    OK(join_with(r, "info", NULL));
    uint64_t seed = 0;
    for (uint32_t kind = 0; kind < HCCL_KIND_ALL_TO_ALL_VC; kind++) {
        for (size_t t = 0; t < MS_COUNT_OF(types); t++, seed++) {
            for (uint32_t op = 0; op < (hccl_kind_reduces(kind) ? 4 : 1); op++) {
                struct ref_case c = {kind, types[t], op, (uint32_t)(seed % r->n), counts[seed % 3], r->n, seed};
                one_case(r, &c);
            }
        }
    }
    struct ref_case zero = {HCCL_KIND_ALL_REDUCE, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 0, 0, r->n, 1};
    one_case(r, &zero);
    struct ref_case large = {HCCL_KIND_ALL_REDUCE, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 0, 300000, r->n, 1};
    one_case(r, &large);
    OK(HcclCommDestroy(r->comm));
}

/* The matrix form: block sizes of all ranks, blocks without gaps. */
static void count_matrix(struct rank *r)
{
    OK(join_with(r, "info", NULL));
    uint64_t matrix[DEVICES * DEVICES], sent = 0, received = 0;
    for (uint32_t i = 0; i < r->n * r->n; i++) {
        matrix[i] = (i * 37 + 11) % 200;
    }
    for (uint32_t i = 0; i < r->n; i++) {
        sent += matrix[r->rank * r->n + i];
        received += matrix[i * r->n + r->rank];
    }
    int32_t *out = calloc(sent + 1, 4), *want = calloc(received + 1, 4);
    uint64_t at = 0;
    for (uint32_t to = 0; to < r->n; to++) {
        for (uint64_t i = 0; i < matrix[r->rank * r->n + to]; i++) {
            out[at++] = (int32_t)(r->rank * 10000 + to * 1000 + i);
        }
    }
    at = 0;
    for (uint32_t from = 0; from < r->n; from++) {
        for (uint64_t i = 0; i < matrix[from * r->n + r->rank]; i++) {
            want[at++] = (int32_t)(from * 10000 + r->rank * 1000 + i);
        }
    }
    void *send = device_memory(out, sent * 4), *recv = device_memory(NULL, received * 4);
    OK(HcclAlltoAllVC(send, matrix, HCCL_DATA_TYPE_INT32, recv, HCCL_DATA_TYPE_INT32, r->comm, r->stream));
    OK(aclrtSynchronizeStream(r->stream));
    CHECK(device_equals(recv, want, received * 4));
    OK(HcclCommDestroy(r->comm));
    free(out);
    free(want);
}

static void collectives(void **state)
{
    play("every_collective", 2);
    play("every_collective", 5);
    play("count_matrix", 3);
}

/* ---- point to point ---- */

static void transfers(struct rank *r)
{
    enum { COUNT = 150000 }; /* more than the two slots of a channel hold */
    OK(join_with(r, "info", NULL));
    uint32_t next = (r->rank + 1) % r->n, before = (r->rank + r->n - 1) % r->n;
    float *mine = malloc(COUNT * 4), *theirs = malloc(COUNT * 4);
    ref_fill(HCCL_DATA_TYPE_FP32, mine, COUNT, r->rank);
    ref_fill(HCCL_DATA_TYPE_FP32, theirs, COUNT, before);
    void *send = device_memory(mine, COUNT * 4), *recv = device_memory(NULL, COUNT * 4);

    /* In a ring, even ranks send first. */
    for (uint32_t turn = 0; turn < 2; turn++) {
        if (turn == r->rank % 2) {
            OK(HcclSend(send, COUNT, HCCL_DATA_TYPE_FP32, next, r->comm, r->stream));
        } else {
            OK(HcclRecv(recv, COUNT, HCCL_DATA_TYPE_FP32, before, r->comm, r->stream));
        }
    }
    OK(aclrtSynchronizeStream(r->stream));
    CHECK(device_equals(recv, theirs, COUNT * 4));

    /* All send first: works in a batch and in a group, and on two streams. */
    HcclSendRecvItem items[2] = {{HCCL_SEND, send, COUNT, HCCL_DATA_TYPE_FP32, next},
                                 {HCCL_RECV, recv, COUNT, HCCL_DATA_TYPE_FP32, before}};
    OK(aclrtMemset(recv, COUNT * 4, 0, COUNT * 4));
    OK(HcclBatchSendRecv(items, 2, r->comm, r->stream));
    OK(aclrtSynchronizeStream(r->stream));
    CHECK(device_equals(recv, theirs, COUNT * 4));

    OK(aclrtMemset(recv, COUNT * 4, 0, COUNT * 4));
    OK(HcclGroupStart());
    OK(HcclGroupStart());
    OK(HcclSend(send, COUNT, HCCL_DATA_TYPE_FP32, next, r->comm, r->stream));
    OK(HcclGroupEnd());
    OK(HcclRecv(recv, COUNT, HCCL_DATA_TYPE_FP32, before, r->comm, r->stream));
    OK(HcclGroupEnd());
    OK(aclrtSynchronizeStream(r->stream));
    CHECK(device_equals(recv, theirs, COUNT * 4));

    aclrtStream other;
    OK(aclrtCreateStream(&other));
    OK(aclrtMemset(recv, COUNT * 4, 0, COUNT * 4));
    OK(HcclSend(send, COUNT, HCCL_DATA_TYPE_FP32, next, r->comm, r->stream));
    OK(HcclRecv(recv, COUNT, HCCL_DATA_TYPE_FP32, before, r->comm, other));
    OK(aclrtSynchronizeStream(other));
    OK(aclrtSynchronizeStream(r->stream));
    CHECK(device_equals(recv, theirs, COUNT * 4));

    /* To the rank itself, in a batch. */
    HcclSendRecvItem self[2] = {{HCCL_SEND, send, 100, HCCL_DATA_TYPE_FP32, r->rank},
                                {HCCL_RECV, recv, 100, HCCL_DATA_TYPE_FP32, r->rank}};
    OK(HcclBatchSendRecv(self, 2, r->comm, r->stream));
    OK(aclrtSynchronizeStream(r->stream));
    CHECK(device_equals(recv, mine, 400));
    CHECK(HcclBatchSendRecv(self, 1, r->comm, r->stream) == HCCL_E_PARA);
    CHECK(HcclSend(send, 1, HCCL_DATA_TYPE_FP32, r->rank, r->comm, r->stream) == HCCL_E_PARA);

    /* A refused call fails its group, and none of the group runs. */
    OK(HcclGroupStart());
    OK(HcclSend(send, COUNT, HCCL_DATA_TYPE_FP32, next, r->comm, r->stream));
    CHECK(HcclRecv(NULL, COUNT, HCCL_DATA_TYPE_FP32, before, r->comm, r->stream) == HCCL_E_PTR);
    CHECK(HcclGroupEnd() == HCCL_E_PTR);
    CHECK(HcclGroupEnd() == HCCL_E_PARA);
    OK(HcclBarrier(r->comm, r->stream));
    OK(aclrtSynchronizeStream(r->stream));
    OK(HcclCommDestroy(r->comm));
    free(mine);
    free(theirs);
}

static void point_to_point(void **state)
{
    play("transfers", 2);
    play("transfers", 4);
}

/* ---- order: collectives of one communicator spread over streams that run at different speed ---- */

static void many_streams(struct rank *r)
{
    enum { STREAMS = 3, ROUNDS = 60, COUNT = 500 };
    OK(join_with(r, "info", NULL));
    aclrtStream streams[STREAMS];
    void *buffers[ROUNDS];
    for (int s = 0; s < STREAMS; s++) {
        OK(aclrtCreateStream(&streams[s]));
    }
    for (int i = 0; i < ROUNDS; i++) {
        int32_t data[COUNT];
        for (int k = 0; k < COUNT; k++) {
            data[k] = i * 1000 + k + (int)r->rank;
        }
        buffers[i] = device_memory(data, sizeof(data));
        /* Each rank chooses its streams; differing types would be reported if the order were not the same. */
        HcclDataType type = i % 2 ? HCCL_DATA_TYPE_INT32 : HCCL_DATA_TYPE_UINT32;
        OK(HcclAllReduce(buffers[i], buffers[i], COUNT, type, HCCL_REDUCE_SUM, r->comm,
                         streams[(i * (r->rank + 1) + i / 7) % STREAMS]));
    }
    for (int s = 0; s < STREAMS; s++) {
        OK(aclrtSynchronizeStream(streams[s]));
    }
    for (int i = 0; i < ROUNDS; i++) {
        int32_t want[COUNT];
        for (int k = 0; k < COUNT; k++) {
            want[k] = (int32_t)r->n * (i * 1000 + k) + (int32_t)(r->n * (r->n - 1) / 2);
        }
        CHECK(device_equals(buffers[i], want, sizeof(want)));
    }
    OK(HcclCommDestroy(r->comm));
}

static void order_over_streams(void **state)
{
    play("many_streams", 3);
}

/* ---- several communicators, subsets, names ---- */

static void part(struct rank *r, struct rank *p, uint64_t id, const char *name)
{
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    config.hcclBufferSize = 2;
    if (name != NULL) {
        strcpy(config.hcclCommName, name);
    }
    uint32_t ids[DEVICES], count = 0, me = 0; /* ranks of the same parity, the last first */
    for (uint32_t i = r->n; i-- > 0;) {
        if (i % 2 == r->rank % 2) {
            me = i == r->rank ? count : me;
            ids[count++] = i;
        }
    }
    p->n = count;
    p->rank = me;
    p->stream = r->stream;
    CHECK(HcclCreateSubCommConfig(&r->comm, count, ids, id, (me + 1) % (count + 1), &config, &p->comm) == HCCL_E_PARA);
    OK(HcclCreateSubCommConfig(&r->comm, count, ids, id, me, &config, &p->comm));
    uint32_t value;
    OK(HcclGetRankSize(p->comm, &value));
    CHECK(value == count);
    OK(HcclGetRankId(p->comm, &value));
    CHECK(value == me);
}

static void parts(struct rank *r)
{
    OK(join_with(r, "info", NULL));
    char whole[COMM_NAME_MAX_LENGTH], name[COMM_NAME_MAX_LENGTH], expected[COMM_NAME_MAX_LENGTH + 16];
    OK(HcclGetCommName(r->comm, whole));
    struct rank p, q, other = *r;
    part(r, &p, 17 + r->rank % 2, NULL);
    part(r, &q, 99 + r->rank % 2, "my_group"); /* a second one of the same members */
    snprintf(expected, sizeof(expected), "%s_sub_%u", whole, 17 + r->rank % 2);
    OK(HcclGetCommName(p.comm, name));
    CHECK(strcmp(name, expected) == 0);
    OK(HcclGetCommName(q.comm, name));
    CHECK(strcmp(name, "my_group") == 0);
    OK(join_with(&other, "second", NULL)); /* and one that is independent of the first */
    OK(HcclGetCommName(other.comm, name));
    CHECK(strcmp(name, whole) != 0);
    const struct rank *all[] = {r, &p, &q, &other};
    for (int i = 0; i < 12; i++) {
        const struct rank *one = all[i % 4];
        struct ref_case c = {i % 2 ? HCCL_KIND_ALL_REDUCE : HCCL_KIND_ALL_GATHER,
                             HCCL_DATA_TYPE_FP32,
                             HCCL_REDUCE_MAX,
                             0,
                             (uint64_t)(100 + 1000 * i),
                             one->n,
                             (uint64_t)i};
        one_case(one, &c);
    }
    OK(HcclCommDestroy(r->comm)); /* subsets outlive the parent */
    struct ref_case c = {HCCL_KIND_ALL_REDUCE, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 0, 5000, p.n, 5};
    one_case(&p, &c);
    OK(HcclCommDestroy(p.comm));
    OK(HcclCommDestroy(q.comm));
    OK(HcclCommDestroy(other.comm));
}

static void subsets_of_a_communicator(void **state)
{
    play("parts", 4);
    play("parts", 5);
}

/* ---- rank table ---- */

static void by_rank_table(struct rank *r)
{
    char path[128], text[1024];
    path_of(path, "table.json");
    int used = snprintf(text, sizeof(text),
                        "{\"status\": \"completed\", \"version\": \"1.0\", \"server_count\": \"1\","
                        " \"server_list\": [{\"server_id\": \"node_0\", \"device\": [");
    for (uint32_t i = 0; i < r->n; i++) {
        used += snprintf(text + used, sizeof(text) - (size_t)used,
                         "%s{\"device_id\": \"%u\", \"device_ip\": \"192.168.1.%u\", \"rank_id\": \"%u\"}",
                         i > 0 ? "," : "", i, i + 8, i);
    }
    snprintf(text + used, sizeof(text) - (size_t)used, "]}]}");
    leave("table.json", text, strlen(text));

    CHECK(HcclCommInitClusterInfo("/no/such/table", r->rank, &r->comm) == HCCL_E_OPEN_FILE_FAILURE);
    CHECK(HcclCommInitClusterInfo(path, r->n, &r->comm) == HCCL_E_PARA);
    CHECK(HcclCommInitClusterInfo(path, (r->rank + 1) % r->n, &r->comm) == HCCL_E_PARA); /* another device */
    CHECK(HcclCommInitClusterInfo(NULL, r->rank, &r->comm) == HCCL_E_PTR);
    CHECK(HcclCommInitClusterInfo(path, r->rank, NULL) == HCCL_E_PTR);
    struct rank again = *r;
    OK(HcclCommInitClusterInfo(path, r->rank, &r->comm));
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    OK(HcclCommInitClusterInfoConfig(path, r->rank, &config, &again.comm)); /* the same table again */
    char name[COMM_NAME_MAX_LENGTH];
    OK(HcclGetCommName(r->comm, name));
    CHECK(strcmp(name, "hccl_world_group") == 0);
    struct ref_case c = {HCCL_KIND_ALL_REDUCE, HCCL_DATA_TYPE_BFP16, HCCL_REDUCE_SUM, 0, 5000, r->n, 5};
    one_case(r, &c);
    one_case(&again, &c);
    OK(HcclCommDestroy(r->comm));
    OK(HcclCommDestroy(again.comm));
}

static void rank_table(void **state)
{
    play("by_rank_table", 3);
}

/* ---- all devices of one process ---- */

static void one_process(struct rank *r)
{
    enum { N = 4, COUNT = 100000 };
    int32_t devices[N] = {0, 1, 2, 3}, twice[2] = {1, 1}, missing[2] = {0, 77};
    HcclComm comms[N];
    aclrtStream streams[N];
    void *send[N], *recv[N];
    CHECK(HcclCommInitAll(2, NULL, comms) == HCCL_E_PTR);
    CHECK(HcclCommInitAll(0, devices, comms) == HCCL_E_PARA);
    CHECK(HcclCommInitAll(2, twice, comms) == HCCL_E_PARA);
    CHECK(HcclCommInitAll(2, missing, comms) == HCCL_E_PARA);
    OK(HcclCommInitAll(N, devices, comms));
    struct ref_case c = {HCCL_KIND_ALL_REDUCE, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 0, COUNT, N, 9};
    for (uint32_t i = 0; i < N; i++) {
        OK(aclrtSetDevice(devices[i]));
        OK(aclrtCreateStream(&streams[i]));
        char *input = ref_input(&c, i);
        send[i] = device_memory(input, COUNT * 4);
        recv[i] = device_memory(NULL, COUNT * 4);
        free(input);
        OK(HcclAllReduce(send[i], recv[i], COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comms[i], streams[i]));
    }
    char *want = malloc(COUNT * 4);
    ref_expect(&c, 0, want);
    for (uint32_t i = 0; i < N; i++) {
        OK(aclrtSetDevice(devices[i]));
        OK(aclrtSynchronizeStream(streams[i]));
        CHECK(device_equals(recv[i], want, COUNT * 4));
        OK(HcclCommDestroy(comms[i]));
    }
    free(want);
}

struct thread_rank {
    struct rank r;
    const HcclRootInfo *info;
};

static void *thread_main(void *arg)
{
    struct thread_rank *t = arg;
    OK(aclrtSetDevice((int32_t)t->r.rank));
    OK(aclrtCreateStream(&t->r.stream));
    OK(HcclCommInitRootInfo(t->r.n, t->info, t->r.rank, &t->r.comm));
    for (uint64_t i = 0; i < 20; i++) {
        struct ref_case c = {i % 2 ? HCCL_KIND_ALL_TO_ALL : HCCL_KIND_ALL_REDUCE,
                             HCCL_DATA_TYPE_FP32,
                             HCCL_REDUCE_SUM,
                             0,
                             1 + i * 3000,
                             t->r.n,
                             i};
        one_case(&t->r, &c);
    }
    OK(HcclCommDestroy(t->r.comm));
    return NULL;
}

static void threads(struct rank *r)
{
    enum { N = 4 };
    struct thread_rank t[N];
    pthread_t ids[N];
    HcclRootInfo info;
    OK(HcclGetRootInfo(&info));
    for (uint32_t i = 0; i < N; i++) {
        t[i] = (struct thread_rank){{i, N, NULL, NULL}, &info};
        CHECK(pthread_create(&ids[i], NULL, thread_main, &t[i]) == 0);
    }
    for (uint32_t i = 0; i < N; i++) {
        pthread_join(ids[i], NULL);
    }
}

static void devices_of_one_process(void **state)
{
    play("one_process", 1);
    play("threads", 1);
}

/* ---- models ---- */

static void replayed(struct rank *r)
{
    enum { COUNT = 3000, TIMES = 5 };
    OK(join_with(r, "info", NULL));
    int32_t ones[COUNT], want[COUNT];
    for (int i = 0; i < COUNT; i++) {
        ones[i] = 1;
    }
    void *b = device_memory(ones, sizeof(ones)), *got = device_memory(ones, sizeof(ones));
    uint32_t next = (r->rank + 1) % r->n, before = (r->rank + r->n - 1) % r->n;
    HcclSendRecvItem items[2] = {{HCCL_SEND, b, COUNT, HCCL_DATA_TYPE_INT32, next},
                                 {HCCL_RECV, got, COUNT, HCCL_DATA_TYPE_INT32, before}};
    aclmdlRI model;
    OK(aclmdlRICaptureBegin(r->stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    OK(HcclAllReduce(b, b, COUNT, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, r->comm, r->stream));
    OK(HcclBatchSendRecv(items, 2, r->comm, r->stream));
    OK(aclmdlRICaptureEnd(r->stream, &model));
    int32_t value = 1;
    CHECK(device_equals(b, ones, sizeof(ones))); /* recorded, not run */
    for (int t = 0; t < TIMES; t++) {
        OK(aclmdlRIExecuteAsync(model, r->stream));
        /* Directly queued operations in between, after the model in the same stream. */
        OK(HcclAllReduce(b, b, COUNT, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_MAX, r->comm, r->stream));
        value *= (int32_t)r->n;
    }
    OK(aclrtSynchronizeStream(r->stream));
    for (int i = 0; i < COUNT; i++) {
        want[i] = value;
    }
    CHECK(device_equals(b, want, sizeof(want)));
    CHECK(device_equals(got, want, sizeof(want)));
    OK(HcclCommDestroy(r->comm));
    OK(aclmdlRIExecuteAsync(model, r->stream)); /* its communicator is gone */
    CHECK(aclrtSynchronizeStream(r->stream) != 0);
    OK(aclmdlRIDestroy(model));
}

static void models(void **state)
{
    play("replayed", 3);
}

/* ---- reports to profilers ---- */

static struct MsprofCompactInfo op_info, track;
static struct MsprofApi launch, part_task;
static uint32_t op_infos, tracks, launches, part_tasks;

static int32_t on_compact(uint32_t aging, const void *data, uint32_t len)
{
    const struct MsprofCompactInfo *info = data;
    if (info->level == MSPROF_REPORT_NODE_LEVEL && info->type == MSPROF_REPORT_NODE_HCCL_OP_INFO_TYPE) {
        op_info = *info;
        op_infos++;
    } else if (info->level == MSPROF_REPORT_RUNTIME_LEVEL && info->type == 802) {
        track = *info;
        tracks++;
    }
    return 0;
}

static int32_t on_api(uint32_t aging, const struct MsprofApi *api)
{
    if (api->level == MSPROF_REPORT_NODE_LEVEL && api->type == MSPROF_REPORT_NODE_LAUNCH_TYPE) {
        launch = *api;
        launches++;
    } else if (api->level == MSPROF_REPORT_HCCL_NODE_LEVEL) {
        part_task = *api;
        part_tasks++;
    }
    return 0;
}

static void profiled(struct rank *r)
{
    struct MsprofCommandHandle command = {.profSwitch = 0x4000821,
                                          .devNums = 1,
                                          .devIdList = {r->rank},
                                          .modelId = UINT32_MAX,
                                          .type = PROF_COMMANDHANDLE_TYPE_START};
    char name[COMM_NAME_MAX_LENGTH];
    OK(join_with(r, "info", NULL));
    OK(HcclGetCommName(r->comm, name));
    void *b = device_memory(NULL, 4000);
    OK(aclrtMemset(b, 4000, 0, 4000));
    OK(MsprofRegisterProfileCallback(PROFILE_REPORT_COMPACT_CALLBACK, on_compact, sizeof(void *)));
    OK(MsprofRegisterProfileCallback(PROFILE_REPORT_API_C_CALLBACK, on_api, sizeof(void *)));
    OK(profSetProfCommand(&command, sizeof(command)));
    OK(HcclAllReduce(b, b, 1000, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r->comm, r->stream));
    CHECK(op_infos == 1 && tracks == 1 && launches == 1 && part_tasks == 1);
    CHECK(op_info.data.hcclopInfo.count == 1000 && op_info.data.hcclopInfo.dataType == HCCL_DATA_TYPE_FP32);
    CHECK(op_info.data.hcclopInfo.groupName == MsprofGetHashId(name, strlen(name)));
    CHECK(launch.itemId == MsprofGetHashId("hcom_allReduce_", strlen("hcom_allReduce_")));
    CHECK(launch.threadId == (uint32_t)syscall(SYS_gettid));
    /* Nested, which is how a profiler relates them. */
    CHECK(launch.beginTime <= part_task.beginTime && part_task.endTime <= launch.endTime);
    CHECK(part_task.beginTime <= track.timeStamp && track.timeStamp <= part_task.endTime);
    CHECK(launch.beginTime <= op_info.timeStamp && op_info.timeStamp <= launch.endTime);
    OK(HcclGroupStart());
    OK(HcclSend(b, 10, HCCL_DATA_TYPE_INT8, !r->rank, r->comm, r->stream));
    OK(HcclRecv((char *)b + 16, 10, HCCL_DATA_TYPE_INT8, !r->rank, r->comm, r->stream));
    CHECK(launches == 1); /* nothing yet */
    OK(HcclGroupEnd());
    CHECK(launches == 2 && launch.itemId == MsprofGetHashId("hcom_batchSendRecv_", strlen("hcom_batchSendRecv_")));
    command.type = PROF_COMMANDHANDLE_TYPE_FINALIZE;
    OK(profSetProfCommand(&command, sizeof(command)));
    OK(HcclBarrier(r->comm, r->stream));
    CHECK(launches == 2);
    OK(aclrtSynchronizeStream(r->stream));
    OK(HcclCommDestroy(r->comm));
}

static void records(void **state)
{
    play("profiled", 2);
}

int main(int argc, char **argv)
{
    static const struct scenario scenarios[] = {
        SCENARIO(every_collective), SCENARIO(count_matrix), SCENARIO(transfers),
        SCENARIO(many_streams),     SCENARIO(parts),        SCENARIO(by_rank_table),
        SCENARIO(one_process),      SCENARIO(threads),      SCENARIO(replayed),
        SCENARIO(profiled),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives),
        cmocka_unit_test(point_to_point),
        cmocka_unit_test(order_over_streams),
        cmocka_unit_test(subsets_of_a_communicator),
        cmocka_unit_test(rank_table),
        cmocka_unit_test(devices_of_one_process),
        cmocka_unit_test(models),
        cmocka_unit_test(records),
    };
    if (argc == 5) {
        return ranks_play_one(argv, scenarios, MS_COUNT_OF(scenarios));
    }
    ranks_begin();
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    ranks_end();
    return result;
}
