/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions: texts, modules, code objects and stacks that a stream defines once and then refers to by id.
 *
 * A definition is a record of the stream that uses it; its id is valid in this stream only (the collector renumbers
 * by content). Each stream remembers its definitions in a table of fixed size; evicted ones are simply defined
 * again. An id is stored only after its definition was committed, so a lost record never leaves an undefined id.
 *
 * All functions are called by the thread that will write the record, before ms_rec_begin. 0 means "no id": the
 * definition failed (no space, or the process does not record), and the record is written without it. An id is for
 * the next record only: request it again for each record. Callbacks run outside any record, with the thread guarded
 * against recursion. errno is preserved. */
#ifndef MS_TRACE_DEFINITIONS_H
#define MS_TRACE_DEFINITIONS_H

#include "trace/producer.h"

#define MS_DEFINITIONS    4096u /* remembered per stream */
#define MS_DEFINITION_IDS 8192u /* ids of a stream are 1 ... this; an evicted id is reused late */

/* ---- texts ---- */

/* Id of a recurring text: names of kernels, operators, labels. Truncated to MS_TEXT_MAX_B bytes. */
#define MS_TEXT_MAX_B 8192u
uint32_t ms_def_text(const char *text, size_t length_b);

/* Writes a text and returns its length. */
typedef size_t (*ms_text_fn)(void *argument, char *out, size_t out_b);
/* Id of a text that describes a property of a code object (0: none), or something else that `what` identifies; describe
 * is called, and may call anything, if the text is not remembered. */
uint32_t ms_def_text_of(uintptr_t code, uint64_t what, ms_text_fn describe, void *argument);

/* Texts of one record, each as an id or in the record itself.
 *
 *     struct ms_texts texts = {0};
 *     ms_texts_add(&texts, message, strlen(message), false);
 *     struct ms_p_mark *p = ms_rec_begin(&slot, sizeof(*p) + ms_texts_tail_b(&texts), MS_ORDER_PLAIN);
 *     if (p != NULL) {
 *         p->stream_id = ...;
 *         p->text = texts.ref[0];
 *         ms_texts_put(&texts, p + 1);
 *         ms_rec_commit(&slot, MS_R_MARK, flags | texts.flags, device, stamp);
 *     }
 */
#define MS_TEXTS_MAX 2
struct ms_texts {
    struct ms_text_ref ref[MS_TEXTS_MAX];
    const char *text[MS_TEXTS_MAX];
    uint32_t count;
    uint8_t flags; /* MS_RECORD_CUT if something was truncated */
};

/* recurring: the text will occur again, define it at once. Otherwise it is sent inline the first time and defined when
 * it recurs ("iter 12345" occurs once). NULL text is empty. */
void ms_texts_add(struct ms_texts *texts, const char *text, size_t length_b, bool recurring);
size_t ms_texts_tail_b(const struct ms_texts *texts);
void ms_texts_put(const struct ms_texts *texts, void *tail);

/* ---- C stacks ---- */

struct ms_module_info {
    uint64_t base, size_b;
    uint8_t build_id[24];
    uint32_t build_id_b;
    const char *path;
};
/* Finds the module that holds pc; false: none (generated code), the frame keeps the address itself. */
typedef bool (*ms_module_fn)(uintptr_t pc, struct ms_module_info *out);

/* Key under which a stack is remembered; valid until a module is unloaded. */
struct ms_def_key {
    uint64_t hash, check;
};

/* Id of a stack of return addresses, innermost first; find is called for each frame of a new stack. cut: number of
 * frames that were left out. *key (may be NULL): for ms_def_known. *again (may be NULL): the stack is not new. */
uint32_t ms_def_c_stack(const uintptr_t *pcs, uint32_t frames, uint32_t cut, ms_module_fn find, struct ms_def_key *key,
                        bool *again);

/* Id of an earlier stack by its key alone; 0: no longer remembered. */
uint32_t ms_def_known(const struct ms_def_key *key);

/* A module was unloaded: invalidates everything remembered about addresses. From any thread. */
void ms_def_forget_modules(void);
/* How often that has happened. */
uint32_t ms_def_modules_epoch(void);

/* ---- Python stacks ---- */

struct ms_code_info {
    const char *file, *name;
    uint32_t file_b, name_b;
    uint32_t first_line;
    uint32_t version;
    const void *line_table;
    uint32_t line_table_b;
    bool own; /* belongs to the recorder: left out of stacks */
};
struct ms_py_frame {
    uintptr_t code;
    uint64_t instruction;
};
/* Describes a code object; pointers must stay valid until the call of ms_def_* returns. */
typedef bool (*ms_code_fn)(uintptr_t code, struct ms_code_info *out);

uint32_t ms_def_python_stack(const struct ms_py_frame *frames, uint32_t count, uint32_t cut, ms_code_fn describe);

/* A code object is being destroyed: its address may be reused for another one. From any thread. */
void ms_def_forget_code(uintptr_t code);

/* ---- scratch memory of the calling thread, for walking a stack (the caller's stack may be too small) ---- */

#define MS_SCRATCH_MORE_B (440u << 10)
struct ms_scratch {
    uintptr_t pcs[MS_FRAMES_MAX];
    struct ms_py_frame py[MS_FRAMES_MAX];
    uint64_t more[MS_SCRATCH_MORE_B / 8]; /* zero at first; unused pages cost nothing */
};
/* NULL if the thread does not record. The same memory at each call; ms_def_* do not touch it. */
struct ms_scratch *ms_def_scratch(void);

#endif
