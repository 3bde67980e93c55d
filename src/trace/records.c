/* The table of records as data. Read only; nothing here can fail. */
#include "trace/records.h"

static const struct ms_record_spec specs[MS_R_LIMIT] = {
#define X(number, kind, payload, order_, shape_)                                                                       \
    [number] = {.name = #kind, .shape = shape_, .payload_b = sizeof(payload), .order = MS_ORDER_##order_},
    MS_RECORDS(X)
#undef X
};

const struct ms_record_spec *ms_record_spec(unsigned kind)
{
    return kind < MS_R_LIMIT && specs[kind].name != 0 ? &specs[kind] : 0;
}
