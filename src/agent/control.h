/* SPDX-License-Identifier: Apache-2.0 */
/* Controls recording from inside the program: the implementation of the API functions. They wait for the collector (at
 * most 10 s without a keep-alive), so hooks must not call them. 0, or -errno with a line for the user in why:
 * -ENOTCONN: this process is not recorded, -EPIPE: the collector is gone, -EINVAL: invalid value. */
#ifndef MS_AGENT_CONTROL_H
#define MS_AGENT_CONTROL_H

#include <stddef.h>
#include <stdint.h>

/* Starts tracing. On return the output directory and config.json exist. */
int ms_control_start(char *why, size_t why_b);
/* Stops tracing. On return everything that happened before is in the output files. */
int ms_control_stop(char *why, size_t why_b);
/* Like stop, but tracing continues. Both: the text in why lists blocks that have outlived their step, see
 * ms_leaks_suspects. */
int ms_control_suspects(char *why, size_t why_b);
/* Starts the next step. Does not wait. */
int ms_control_step(char *why, size_t why_b);
/* Lines "option=value", with command-line names; all or nothing. */
int ms_control_config(const char *lines, char *why, size_t why_b);
/* Creates the output directory and config.json without tracing; does nothing while tracing. */
int ms_control_begin_files(char *why, size_t why_b);
/* Directory of this process's files; the session's while there are none. */
int ms_control_output(char *path, size_t path_b);

#endif
