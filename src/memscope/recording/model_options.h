/* SPDX-License-Identifier: Apache-2.0 */
/* From the settings of a recording to the options of the model that reads it. */
#ifndef MS_RECORDING_MODEL_OPTIONS_H
#define MS_RECORDING_MODEL_OPTIONS_H

#include "memscope/model/model.h"
#include "memscope/options/settings.h"

/* Sets the options that follow from the settings; log and argument stay as they are. From then on CONFIG events change
 * *settings, which must outlive the model, and the model's options with them. */
void ms_recording_model_options(struct ms_settings *settings, struct ms_model_options *out);

#endif
