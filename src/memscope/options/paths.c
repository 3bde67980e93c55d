/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of paths given by the user. Nothing here creates or opens a file. */
#include "memscope/options/paths.h"

#include "base/macros.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMPONENT_MAX_B 255
#define DEPTH_MAX       32

bool ms_path_absolute(const char *path, char out[MS_PATH_MAX_B + 1])
{
    char whole[2 * MS_PATH_MAX_B + 2] = "";
    size_t length = 0;
    if (path[0] != '/') {
        if (getcwd(whole, MS_PATH_MAX_B + 1) == NULL || whole[0] != '/') {
            out[0] = '\0';
            return false;
        }
        length = strlen(whole);
    }
    if (snprintf(whole + length, sizeof(whole) - length, "/%s", path) >= (int)(sizeof(whole) - length)) {
        out[0] = '\0';
        return false;
    }
    /* The output never gets ahead of the input: normalized in place. */
    size_t n = 0;
    for (const char *p = whole; *p != '\0';) {
        p += strspn(p, "/");
        size_t part = strcspn(p, "/");
        if (part == 2 && p[0] == '.' && p[1] == '.') {
            while (n > 0 && whole[--n] != '/') {
            }
        } else if (part > 0 && !(part == 1 && p[0] == '.')) {
            whole[n++] = '/';
            memmove(whole + n, p, part);
            n += part;
        }
        p += part;
    }
    whole[n] = '\0';
    if (n > MS_PATH_MAX_B) {
        out[0] = '\0';
        return false;
    }
    memcpy(out, n > 0 ? whole : "/", n > 0 ? n + 1 : 2);
    return true;
}

bool ms_path_shape_ok(const char *absolute)
{
    size_t depth = 0, component_b = 0, length_b = 0;
    for (const char *p = absolute; *p != '\0'; p++, length_b++) {
        depth += *p == '/';
        component_b = *p == '/' ? 0 : component_b + 1;
        if (component_b > COMPONENT_MAX_B || depth > DEPTH_MAX || length_b >= MS_PATH_MAX_B) {
            return false;
        }
    }
    return length_b > 0;
}

bool ms_path_characters_ok(const char *path)
{
    for (const unsigned char *p = (const unsigned char *)path; *p != '\0'; p++) {
        if (*p < 0x80) {
            if (!isalnum(*p) && !isspace(*p) && strchr("./_-~", *p) == NULL) {
                return false;
            }
            continue;
        }
        if ((p[0] & 0xf0) != 0xe0 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80) {
            return false;
        }
        unsigned code = (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
        if (code < 0x4e00 || code > 0x9fa5) {
            return false;
        }
        p += 2;
    }
    return true;
}

int ms_path_trust(const char *path, bool strict, void (*say)(const char *line))
{
    struct stat st;
    char line[MS_PATH_MAX_B + 200];
    if (lstat(path, &st) != 0) {
        return 0;
    }
    uid_t self = geteuid();
    bool link = S_ISLNK(st.st_mode);
    bool foreign = st.st_uid != self && st.st_uid != 0;
    bool writable = !link && (st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (st.st_mode & S_ISVTX) == 0;
    if (strict && (link || foreign || (writable && self != 0))) {
        snprintf(line, sizeof(line), "[msmemscope] Error: The path %s: %s", path,
                 link      ? "soft link is not allowed."
                 : foreign ? "owner is not root or current user."
                           : "Permission is not valid: Group or others have write permission.");
        say(line);
        return -EPERM;
    }
    if (foreign) {
        snprintf(line, sizeof(line),
                 self == 0
                     ? "[msmemscope] Warn: Process is running as user root. Please confirm the path %s is trusted."
                     : "[msmemscope] Warn: The path %s is not owned by the current user. Please confirm it is trusted.",
                 path);
        say(line);
    }
    if (writable) {
        snprintf(line, sizeof(line),
                 "[msmemscope] Warn: The path %s can be modified by other users. Please confirm it is trusted.", path);
        say(line);
    }
    return 0;
}
