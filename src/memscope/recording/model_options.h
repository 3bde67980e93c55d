/* SPDX-License-Identifier: Apache-2.0 */
/* What the settings of a recording mean for the model that replays it. */
#ifndef MS_RECORDING_MODEL_OPTIONS_H
#define MS_RECORDING_MODEL_OPTIONS_H

#include "memscope/model/model.h"
#include "memscope/options/settings.h"

/* parse_config, log and argument stay as they are. */
void ms_recording_model_options(const struct ms_settings *settings, struct ms_model_options *out);

/* The text of a CONFIG event: changes the settings, and the options with them. False: it makes no sense, or there is no
 * memory; nothing was changed. */
bool ms_recording_config(struct ms_settings *settings, const char *text, size_t length_b, struct ms_model_options *out);

#endif
