/* SPDX-License-Identifier: Apache-2.0 */
/* The collector as a program: finds its channel at MS_CHANNEL_FD, works until nothing is left to be done. */
#ifndef MS_COLLECT_COLLECT_MAIN_H
#define MS_COLLECT_COLLECT_MAIN_H

int collect_main(void);

#endif
