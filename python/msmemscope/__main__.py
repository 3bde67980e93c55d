# SPDX-License-Identifier: Apache-2.0
"""python -m msmemscope: runs the msmemscope command of this installation."""

import os
import sys

from . import _home, _recorder


def main() -> None:
    command = os.path.join(_home.find(), "bin", "msmemscope.bin")  # bin/msmemscope is a shell wrapper around it
    _recorder.withdraw()
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
