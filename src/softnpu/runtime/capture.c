#include "softnpu/runtime/event_internal.h"

int32_t snpu_route_submit(struct snpu_stream *stream, const struct snpu_task_kind *kind, const void *head,
                          size_t head_b, const void *tail, size_t tail_b, uint32_t *task_id)
{
    return snpu_fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "%s: stream %u is not being captured", kind->name, stream->id);
}

int32_t snpu_capture_check_sync(struct snpu_stream *stream)
{
    return 0;
}

int32_t snpu_capture_check_unsafe(const char *function)
{
    return 0;
}

bool capture_event_record(const char *function, struct snpu_stream *stream, struct snpu_event *event,
                          uint32_t record_flag, int32_t *ret)
{
    return false;
}

bool capture_event_wait(const char *function, struct snpu_stream *stream, struct snpu_event *event, uint32_t wait_flag,
                        int32_t *ret)
{
    return false;
}
