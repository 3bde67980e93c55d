/* SPDX-License-Identifier: Apache-2.0 */
/* Control of the recording from inside the program: what the API's functions come down to. They wait for the collector
 * (10 s without a sign of life at most) and are for callers who know that; never for hooks. 0 or -errno, with a line
 * for the user in why: -ENOTCONN nobody records this process, -EPIPE the collector is gone, -EINVAL a value is wrong.
 */
#ifndef MS_AGENT_CONTROL_H
#define MS_AGENT_CONTROL_H

#include <stddef.h>
#include <stdint.h>

/* Tracing begins. When it returns the output directory and config.json are there. */
int ms_control_start(char *why, size_t why_b);
/* Tracing ends. When it returns everything that happened before is in the output files. */
int ms_control_stop(char *why, size_t why_b);
/* As if tracing had ended now, but it goes on. Both: text in why are blocks that have outlived their step, see
 * ms_leaks_suspects. */
int ms_control_suspects(char *why, size_t why_b);
/* The next step begins. Waits for nothing. */
int ms_control_step(char *why, size_t why_b);
/* Lines "option=value", by the names of the command line; all or nothing. */
int ms_control_config(const char *lines, char *why, size_t why_b);
/* Has the output directory and config.json made, without tracing; does nothing while tracing. */
int ms_control_begin_files(char *why, size_t why_b);
/* Directory of this process's files; the session's as long as there are none. */
int ms_control_output(char *path, size_t path_b);

#endif
