/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a program apart from everything: nobody's child but init's, in a process group of its own, with no file but
 * the one given (as MS_CHANNEL_FD) and /dev/null, default signals (INT, QUIT, HUP, TERM ignored), a clean environment.
 */
#ifndef MS_SUPERVISE_SPAWN_H
#define MS_SUPERVISE_SPAWN_H

/* argv[0] is the path. The caller has one thread. 0 or -errno, also of the exec itself. */
int ms_spawn_apart(char *const argv[], int channel_fd);

#endif
