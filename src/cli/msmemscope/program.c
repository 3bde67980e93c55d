/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the program, and warns if it cannot be recorded because the dynamic loader does not preload into it. The
 * program is run in any case.
 *
 * ELF files are untrusted: every offset is checked. */
#include "cli/msmemscope/cli.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define HEADERS_MAX 128
#define DYNAMIC_MAX 1024

/* ---- finding ---- */

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* As in msMemScope, a file of that name in the current directory takes precedence over PATH, even without "./". */
int program_find(const char *name, struct program *out)
{
    struct stat st;
    memset(out, 0, sizeof(*out));
    if (*name == '\0' || strlen(name) > MS_PATH_MAX_B) {
        cli_error("cannot run '%.100s': not a program name.", name);
        return MS_EXIT_NOT_FOUND;
    }
    bool here = stat(name, &st) == 0;
    if (strchr(name, '/') != NULL || is_program(name)) {
        snprintf(out->path, sizeof(out->path), "%s%s", strchr(name, '/') == NULL ? "./" : "", name);
        if (!here) {
            cli_error("cannot run '%s': %s.", name, strerror(errno));
            return errno == ENOENT || errno == ENOTDIR ? MS_EXIT_NOT_FOUND : MS_EXIT_NOT_EXEC;
        }
        if (!is_program(name)) {
            cli_error("cannot run '%s': %s.", name, S_ISDIR(st.st_mode) ? "it is a directory" : "it is not executable");
            return MS_EXIT_NOT_EXEC;
        }
        return 0;
    }
    const char *path = getenv("PATH");
    path = path != NULL ? path : "/usr/local/bin:/usr/bin:/bin";
    bool seen = false;
    for (const char *end;; path = end + 1) {
        end = strchrnul(path, ':');
        int n =
            snprintf(out->path, sizeof(out->path), "%.*s%s%s", (int)(end - path), path, end > path ? "/" : "./", name);
        if (n < (int)sizeof(out->path)) {
            if (is_program(out->path)) {
                return 0;
            }
            seen = seen || access(out->path, F_OK) == 0;
        }
        if (*end == '\0') {
            break;
        }
    }
    if (seen) {
        cli_error("cannot run '%s': it is not executable.", name);
        return MS_EXIT_NOT_EXEC;
    }
    cli_error("cannot run '%s': no such program here or in PATH.", name);
    return MS_EXIT_NOT_FOUND;
}

/* ---- will it be recorded? ---- */

static bool read_at(int fd, uint64_t offset, void *out, size_t size_b)
{
    return offset <= INT64_MAX && pread(fd, out, size_b, (off_t)offset) == (ssize_t)size_b;
}

/* Name of the first needed library that must be loaded before the recorder. */
static void find_sanitizer(int fd, const Elf64_Phdr *headers, unsigned count, char *out, size_t out_b)
{
    const Elf64_Phdr *dynamic = NULL;
    for (unsigned i = 0; i < count; i++) {
        dynamic = headers[i].p_type == PT_DYNAMIC ? &headers[i] : dynamic;
    }
    static Elf64_Dyn entries[DYNAMIC_MAX];
    uint64_t strings = 0;
    size_t n = dynamic != NULL ? dynamic->p_filesz / sizeof(entries[0]) : 0;
    n = n < DYNAMIC_MAX ? n : DYNAMIC_MAX;
    if (n == 0 || !read_at(fd, dynamic->p_offset, entries, n * sizeof(entries[0]))) {
        return;
    }
    for (size_t i = 0; i < n && entries[i].d_tag != DT_NULL; i++) {
        strings = entries[i].d_tag == DT_STRTAB ? entries[i].d_un.d_ptr : strings;
    }
    for (unsigned i = 0; i < count; i++) { /* its offset in the file */
        if (headers[i].p_type == PT_LOAD && strings >= headers[i].p_vaddr &&
            strings - headers[i].p_vaddr < headers[i].p_filesz) {
            uint64_t base = headers[i].p_offset + (strings - headers[i].p_vaddr);
            for (size_t k = 0; k < n && entries[k].d_tag != DT_NULL; k++) {
                char name[64] = "";
                if (entries[k].d_tag == DT_NEEDED && entries[k].d_un.d_val < UINT32_MAX &&
                    pread(fd, name, sizeof(name) - 1, (off_t)(base + entries[k].d_un.d_val)) > 0 &&
                    (strncmp(name, "libasan.so", 10) == 0 || strncmp(name, "libtsan.so", 10) == 0)) {
                    snprintf(out, out_b, "%s", name);
                    return;
                }
            }
            return;
        }
    }
}

static const char *look_at_elf(int fd, struct program *program)
{
    Elf64_Ehdr header;
    if (!read_at(fd, 0, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
        return NULL;
    }
    if (header.e_ident[EI_CLASS] != ELFCLASS64) {
        return "it is a 32-bit program";
    }
#if defined(__x86_64__)
    const unsigned machine = EM_X86_64;
#elif defined(__aarch64__)
    const unsigned machine = EM_AARCH64;
#else
    const unsigned machine = header.e_machine;
#endif
    if (header.e_machine != machine) {
        return "it was built for another processor";
    }
    static Elf64_Phdr headers[HEADERS_MAX];
    unsigned count = header.e_phnum < HEADERS_MAX ? header.e_phnum : HEADERS_MAX;
    if (header.e_phentsize != sizeof(headers[0]) || !read_at(fd, header.e_phoff, headers, count * sizeof(headers[0]))) {
        return NULL;
    }
    const Elf64_Phdr *interpreter = NULL;
    for (unsigned i = 0; i < count; i++) {
        interpreter = headers[i].p_type == PT_INTERP ? &headers[i] : interpreter;
    }
    if (interpreter == NULL) {
        return "it is statically linked";
    }
    char loader[256] = "";
    size_t length = interpreter->p_filesz < sizeof(loader) - 1 ? interpreter->p_filesz : sizeof(loader) - 1;
    if (read_at(fd, interpreter->p_offset, loader, length) && strstr(loader, "ld-musl") != NULL) {
        return "it is linked with musl, the recorder with glibc";
    }
    find_sanitizer(fd, headers, count, program->needs_first, sizeof(program->needs_first));
    return NULL;
}

static const char *look_at_rights(int fd)
{
    struct stat st;
    char capability[64];
    if (fstat(fd, &st) != 0) {
        return NULL;
    }
    bool setuid = (st.st_mode & S_ISUID) != 0 && st.st_uid != geteuid();
    bool setgid = (st.st_mode & S_ISGID) != 0 && (st.st_mode & S_IXGRP) != 0 && st.st_gid != getegid();
    if (setuid || setgid) {
        return "it runs with rights of another user";
    }
    return geteuid() != 0 && fgetxattr(fd, "security.capability", capability, sizeof(capability)) > 0
               ? "it runs with capabilities of its own"
               : NULL;
}

void program_inspect(struct program *program)
{
    int fd = open(program->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return; /* executable but not readable: cannot be checked */
    }
    const char *reason = look_at_rights(fd);
    reason = reason != NULL ? reason : look_at_elf(fd, program);
    close(fd);
    if (reason != NULL) {
        cli_warn("%s cannot be recorded: %s, so the system does not load the recorder into it. "
                 "Programs that it starts are recorded.",
                 program->path, reason);
    }
}
