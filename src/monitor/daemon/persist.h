/* SPDX-License-Identifier: Apache-2.0 */
/* State that survives the daemon: pending commands and reported states, in one small file.
 *
 * Clients do not repeat their reports to a new daemon, and a user does not repeat a command that was answered with
 * "effective"; polls alone would restore neither. */
#ifndef MON_DAEMON_PERSIST_H
#define MON_DAEMON_PERSIST_H

#include "monitor/daemon/registry_internal.h"

#include "base/buffer.h"

/* Replaces the file atomically. 0 or -errno. */
int mon_persist_save(const struct mon_registry *registry, const char *path);
/* Restores the processes of the file that are still alive. Returns their number, or -errno (-ENOENT: no file). */
int mon_persist_load(struct mon_registry *registry, const char *path);

/* The text, for tests. boot identifies the boot of the machine; the state of another boot is ignored. */
void mon_persist_write(const struct mon_registry *registry, const char *boot, struct ms_buffer *out);
int mon_persist_read(struct mon_registry *registry, const char *boot, const char *text, size_t text_b);

#endif
