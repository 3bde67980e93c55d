/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a fully detached program: child of init, in its own process group, with no open file but the given one (as
 * MS_CHANNEL_FD) and /dev/null, default signals (INT, QUIT, HUP, TERM ignored), a clean environment. */
#ifndef MS_SUPERVISE_SPAWN_H
#define MS_SUPERVISE_SPAWN_H

/* argv[0] is the path. The caller must be single-threaded. 0 or -errno, also that of the exec. */
int ms_spawn_apart(char *const argv[], int channel_fd);

#endif
