/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the settings that recorded processes need. */
#ifndef MS_SUPERVISE_SESSION_SETTINGS_H
#define MS_SUPERVISE_SESSION_SETTINGS_H

#include "collect/protocol/session.h"
#include "memscope/options/settings.h"

/* Fills the fields that follow from the settings; socket, clock, uid and namespace stay unchanged. */
void ms_settings_to_session(const struct ms_settings *settings, struct ms_session *session);

#endif
