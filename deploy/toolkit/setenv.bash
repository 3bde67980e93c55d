# SPDX-License-Identifier: Apache-2.0
# The file that scripts for older toolkits source, from bash.
. "$(dirname -- "${BASH_SOURCE[0]}")/../set_env.sh"
