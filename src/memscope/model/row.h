/* SPDX-License-Identifier: Apache-2.0 */
/* A row of the output, as numbers and ids: built by the model, written by exporters. */
#ifndef MS_MODEL_ROW_H
#define MS_MODEL_ROW_H

#include "memscope/model/columns.h"
#include "trace/event.h"

enum ms_attr_form {
    MS_FORM_NUMBER, /* decimal */
    MS_FORM_ADDR,   /* 0x and 16 hexadecimal digits */
    MS_FORM_PTR,    /* 0x and as many digits as needed */
    MS_FORM_TEXT,   /* text */
    MS_FORM_RATE,   /* rate, with 6 decimals */
};

struct ms_attr {
    uint8_t key;  /* enum ms_attr_key; MS_ATTR_OTHER: see other_key, otherwise unused */
    uint8_t form; /* enum ms_attr_form */
    uint32_t other_key_b;
    const char *other_key;
    union {
        uint64_t number;
        double rate;
        struct ms_text text;
    };
};

#define MS_ROW_ATTRS_MAX 24

/* Numbers that mean "N/A". Devices: MS_DEV_UNKNOWN; MS_DEV_CPU is "cpu". */
#define MS_ID_NONE 0xffffffffu

/* Texts and the row itself are valid during the callback. */
struct ms_row {
    uint64_t id;      /* 0, 1, 2 ... of the process, over all devices; has holes for rows that were not requested */
    uint64_t time_ns; /* strictly increasing with id, except KERNEL_EXECUTE_* (device time) */
    uint32_t pid, tid;
    uint32_t device;
    uint8_t event; /* enum ms_row_event */
    uint8_t type;  /* enum ms_row_type */
    bool has_addr;
    bool late; /* a MALLOC whose owner or inefficient_type may still change; look it up by allocation_id */
    uint64_t addr;
    uint64_t allocation_id;         /* of MALLOC, FREE and ACCESS, else 0; also in the attributes */
    uint64_t range_id;              /* of Range_start and Range_end, else 0 */
    struct ms_text name;            /* empty: "N/A", except for MSTX rows */
    uint32_t c_stack, python_stack; /* ids; 0: none; python_stack may be MS_STACK_NO_GIL: "NA" */
    uint32_t attr_count;
    struct ms_attr attr[MS_ROW_ATTRS_MAX]; /* in the order of columns.h */
};

/* A call of the Python trace. */
struct ms_slice {
    uint64_t start_ns, end_ns; /* 0: unknown */
    uint32_t pid, tid;
    uint32_t device;
    struct ms_text function;
};

#endif
