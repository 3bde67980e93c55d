/* SPDX-License-Identifier: Apache-2.0 */
/* What outlives the daemon: waiting commands and reported states, in one small file.
 *
 * Clients do not repeat what they said to a daemon that has gone, and nobody repeats a command that was answered with
 * "effective"; polls alone would bring back neither. */
#ifndef MON_DAEMON_PERSIST_H
#define MON_DAEMON_PERSIST_H

#include "monitor/daemon/registry_internal.h"

#include "base/buffer.h"

/* Writes the file anew, whole or not at all. 0 or -errno. */
int mon_persist_save(const struct mon_registry *registry, const char *path);
/* Puts back the processes of the file that still live. The number of them, or -errno (-ENOENT: no file). */
int mon_persist_load(struct mon_registry *registry, const char *path);

/* The text, for tests. boot: an identity of this run of the machine; another one makes load forget everything. */
void mon_persist_write(const struct mon_registry *registry, const char *boot, struct ms_buffer *out);
int mon_persist_read(struct mon_registry *registry, const char *boot, const char *text, size_t text_b);

#endif
