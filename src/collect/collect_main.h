/* SPDX-License-Identifier: Apache-2.0 */
/* The collector as a program: its channel is descriptor MS_CHANNEL_FD; runs until all work is done. */
#ifndef MS_COLLECT_COLLECT_MAIN_H
#define MS_COLLECT_COLLECT_MAIN_H

int ms_collect_main(void);

#endif
