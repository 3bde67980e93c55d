/* SPDX-License-Identifier: Apache-2.0 */
/* See report_page.h. */
#include "cli/msmemscope/report_page.h"

#include "memscope/render/html.h"
#include "memscope/render/report_json.h"
#include "memscope/render/reduce.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_DEVICES 8u
#define PAGE_STEPS   1000u

static int tell(const char *path, int rc)
{
    fprintf(stderr, "msmemscope: cannot write %s: %s\n", path, strerror(-rc));
    return rc;
}

bool report_page_ready(const char *path)
{
    char folder[PATH_MAX];
    struct stat st;
    if (!ms_html_available()) {
        fputs(
            "msmemscope: this build cannot write pages: install esbuild, then build again (scripts/bootstrap build; the option"
            " is -Dpage)\n",
            stderr);
        return false;
    }
    if (strlen(path) >= sizeof(folder)) {
        return tell(path, -ENAMETOOLONG) == 0;
    }
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        return tell(path, -EISDIR) == 0;
    }
    snprintf(folder, sizeof(folder), "%s", path);
    if (access(dirname(folder), W_OK | X_OK) != 0) {
        return tell(path, -errno) == 0;
    }
    return true;
}

static int write_beside(struct ms_buffer *page, const char *path)
{
    char beside[PATH_MAX];
    if ((size_t)snprintf(beside, sizeof(beside), "%s.%d", path, (int)getpid()) >= sizeof(beside)) {
        return -ENAMETOOLONG;
    }
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) {
        return -errno;
    }
    int rc = ms_buffer_write(page, fd);
    rc = close(fd) != 0 && rc == 0 ? -errno : rc;
    rc = rc == 0 && rename(beside, path) != 0 ? -errno : rc;
    if (rc != 0) {
        unlink(beside);
    }
    return rc;
}

/* The more devices, the less detail for each, so that a page of many ranks can still be mailed. */
static struct ms_reduce_options limits(const struct ms_report *report)
{
    size_t devices = 0;
    for (size_t i = 0; i < report->process_count; i++) {
        devices += report->processes[i].device_count;
    }
    return devices <= PAGE_DEVICES
               ? (struct ms_reduce_options){.points = MS_REPORT_POINTS, .steps = PAGE_STEPS}
               : (struct ms_reduce_options){.points = MS_REPORT_POINTS / 8, .steps = PAGE_STEPS / 4, .npus = true};
}

int report_page_write(const struct ms_report *report, const char *path)
{
    struct ms_buffer json = {0}, page = {0};
    struct ms_reduce_options options = limits(report);
    struct ms_report *reduced = ms_report_reduce(report, &options);
    if (reduced == NULL) {
        return tell(path, -ENOMEM);
    }
    ms_report_json(reduced, &json);
    ms_html_page(json.s, json.used, &page);
    int rc = json.failed || page.failed ? -ENOMEM : write_beside(&page, path);
    ms_report_reduced_free(reduced);
    ms_buffer_free(&json);
    ms_buffer_free(&page);
    if (rc != 0) {
        return tell(path, rc);
    }
    fprintf(stderr, "[msmemscope] Info: create file %s.\n", path);
    return 0;
}
