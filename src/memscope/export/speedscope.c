/* SPDX-License-Identifier: Apache-2.0 */
/* speedscope's own JSON format (https://www.speedscope.app/file-format-schema.json): for each pool of each device three
 * profiles in bytes: live at the peak, live at the end, allocated. All profiles share the frames, which are numbered in
 * order of appearance; therefore "shared" comes last in the file. */
#include "memscope/export/stacks.h"

#include "base/buffer.h"
#include "base/intern.h"

#include <errno.h>

#define BUFFER_B (64u * 1024)

static const struct {
    enum ms_measure measure;
    const char *title;
} profiles[] = {
    {MS_MEASURE_PEAK, "live at the peak"},
    {MS_MEASURE_END, "live at the end"},
    {MS_MEASURE_ALLOCATED, "allocated"},
};
#define PROFILES (sizeof(profiles) / sizeof(profiles[0]))

struct speedscope {
    const struct ms_sites *sites;
    int fd;
    struct ms_buffer out, frame; /* frame: a frame as JSON */
    struct ms_intern frames;     /* as JSON: number n is index n - 1 */
    struct ms_calls calls;
    bool any;
};

static void add_text(struct ms_buffer *out, struct ms_text text)
{
    ms_buffer_char(out, '"');
    ms_buffer_json(out, text.s, text.length_b);
    ms_buffer_char(out, '"');
}

static int flush(struct speedscope *s, size_t from)
{
    return s->out.failed ? -ENOMEM : s->out.used >= from ? ms_buffer_write(&s->out, s->fd) : 0;
}

static uint32_t frame_number(struct speedscope *s, const struct ms_call *call)
{
    struct ms_buffer *frame = &s->frame;
    frame->used = 0;
    MS_BUFFER_TEXT(frame, "{\"name\":");
    add_text(frame, call->function);
    if (call->file.length_b != 0) {
        MS_BUFFER_TEXT(frame, ",\"file\":");
        add_text(frame, call->file);
    }
    if (call->line != 0) {
        MS_BUFFER_TEXT(frame, ",\"line\":");
        ms_buffer_u64(frame, call->line);
    }
    ms_buffer_char(frame, '}');
    return frame->failed ? 0 : ms_intern(&s->frames, frame->s, frame->used);
}

/* The sample of a site: its calls as numbers. */
static int add_sample(struct speedscope *s, const struct ms_site *site)
{
    int rc = ms_sites_calls(s->sites, site, &s->calls);
    for (size_t i = 0; i < s->calls.count && rc == 0; i++) {
        uint32_t number = frame_number(s, &s->calls.calls[i]);
        ms_buffer_char(&s->out, i == 0 ? '[' : ',');
        ms_buffer_u64(&s->out, number - 1);
        rc = number == 0 ? -ENOMEM : 0;
    }
    ms_buffer_char(&s->out, ']');
    return rc != 0 ? rc : flush(s, BUFFER_B);
}

static int add_weight(struct speedscope *s, const struct ms_site *site, enum ms_measure measure)
{
    ms_buffer_u64(&s->out, site->amount[measure].bytes);
    return flush(s, BUFFER_B);
}

/* Samples, or their weights, of the sites that have bytes in the account. */
static int add_list(struct speedscope *s, uint32_t account, enum ms_measure measure, bool weights, uint64_t *total)
{
    bool first = true;
    int rc = 0;
    ms_buffer_char(&s->out, '[');
    for (size_t i = 0; i < ms_sites_count(s->sites) && rc == 0; i++) {
        const struct ms_site *site = ms_sites_at(s->sites, i);
        if (site->account == account && site->amount[measure].bytes != 0) {
            if (!first) {
                ms_buffer_char(&s->out, ',');
            }
            first = false;
            *total += site->amount[measure].bytes;
            rc = weights ? add_weight(s, site, measure) : add_sample(s, site);
        }
    }
    ms_buffer_char(&s->out, ']');
    return rc;
}

static int add_profile(struct speedscope *s, uint32_t at, enum ms_measure measure, const char *title)
{
    const struct ms_account *account = ms_sites_account(s->sites, at);
    const char *type = ms_type_name(account->type);
    char device[24];
    uint64_t total = 0, again = 0;
    ms_device_text(account->device, device);
    if (s->any) {
        ms_buffer_char(&s->out, ',');
    }
    s->any = true;
    MS_BUFFER_TEXT(&s->out, "\n{\"type\":\"sampled\",\"unit\":\"bytes\",\"startValue\":0,\"name\":\"");
    ms_buffer_add(&s->out, device, strlen(device));
    ms_buffer_char(&s->out, ' ');
    ms_buffer_add(&s->out, type, strlen(type));
    MS_BUFFER_TEXT(&s->out, ": ");
    ms_buffer_add(&s->out, title, strlen(title));
    MS_BUFFER_TEXT(&s->out, "\",\"samples\":");
    int rc = add_list(s, at, measure, false, &total);
    MS_BUFFER_TEXT(&s->out, ",\n\"weights\":");
    rc = rc != 0 ? rc : add_list(s, at, measure, true, &again);
    MS_BUFFER_TEXT(&s->out, ",\"endValue\":");
    ms_buffer_u64(&s->out, total);
    ms_buffer_char(&s->out, '}');
    return rc;
}

/* The profile that opens first: the pool that held most. */
static uint64_t best_profile(const struct ms_sites *sites)
{
    size_t best = 0;
    for (size_t i = 1; i < ms_sites_accounts(sites); i++) {
        best = ms_sites_account(sites, i)->peak_b > ms_sites_account(sites, best)->peak_b ? i : best;
    }
    return best * PROFILES;
}

static int add_frames(struct speedscope *s)
{
    int rc = 0;
    MS_BUFFER_TEXT(&s->out, "\n],\"shared\":{\"frames\":[");
    for (uint32_t i = 1; i <= s->frames.count && rc == 0; i++) {
        struct ms_intern_text frame = ms_intern_get(&s->frames, i);
        if (i > 1) {
            ms_buffer_char(&s->out, ',');
        }
        ms_buffer_char(&s->out, '\n');
        ms_buffer_add(&s->out, frame.s, frame.length_b);
        rc = flush(s, BUFFER_B);
    }
    MS_BUFFER_TEXT(&s->out, "\n]}}\n");
    return rc != 0 ? rc : flush(s, 0);
}

int ms_speedscope_write(const struct ms_sites *sites, const char *process, int fd)
{
    struct speedscope s = {.sites = sites, .fd = fd};
    const char *name = process != NULL ? process : "memory";
    MS_BUFFER_TEXT(&s.out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                           "\"exporter\":\"npuscope\",\"name\":\"");
    ms_buffer_json(&s.out, name, strlen(name));
    MS_BUFFER_TEXT(&s.out, "\",\"activeProfileIndex\":");
    ms_buffer_u64(&s.out, best_profile(sites));
    MS_BUFFER_TEXT(&s.out, ",\"profiles\":[");
    int rc = 0;
    for (uint32_t i = 0; i < ms_sites_accounts(sites) && rc == 0; i++) {
        for (size_t j = 0; j < PROFILES && rc == 0; j++) {
            rc = add_profile(&s, i, profiles[j].measure, profiles[j].title);
        }
    }
    rc = rc != 0 ? rc : add_frames(&s);
    ms_calls_free(&s.calls);
    ms_buffer_free(&s.out);
    ms_buffer_free(&s.frame);
    ms_intern_free(&s.frames);
    return rc;
}
