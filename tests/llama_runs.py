# SPDX-License-Identifier: Apache-2.0
"""llama.cpp with its back end ggml-cann, unmodified from the source distribution llama-cpp-python, built with this toolkit.

The build is kept in the cache of scripts/frameworks beside the sources. It uses the toolkit through a folder there: libraries
are a link to this build, headers are copied if their content differs. Ninja compiles what includes a changed header, and
links the back end again if the names of the libraries change.
"""

import fcntl
import filecmp
import os
import pathlib
import shutil
import subprocess

from framework_runs import ROOT, framework

HOME = pathlib.Path(os.environ.get("NPUSCOPE_BUILD", ROOT / "build")).resolve() / "home"
NAME = "llama-cpp-python-0.3.36"
TARGETS = ["test-backend-ops", "llama-simple"]
OPTIONS = {
    "GGML_CANN": "ON", "USE_ACL_GRAPH": "ON", "GGML_NATIVE": "OFF", "GGML_OPENMP": "ON", "LLAMA_OPENSSL": "OFF",
    "LLAMA_BUILD_TESTS": "ON", "LLAMA_BUILD_EXAMPLES": "ON", "LLAMA_BUILD_TOOLS": "OFF", "LLAMA_BUILD_SERVER": "OFF",
    "CMAKE_BUILD_TYPE": "Release", "CMAKE_C_FLAGS_RELEASE": "-O2 -DNDEBUG", "CMAKE_CXX_FLAGS_RELEASE": "-O2 -DNDEBUG",
}


def files(folder):
    """Paths below folder, relative to it. Some folders of the toolkit are links."""
    return {pathlib.Path(top, name).relative_to(folder) for top, _, names in os.walk(folder, followlinks=True) for name in names}


def update_headers(source, copy):
    """Makes copy equal to source. Files that are equal already keep their time."""
    for stale in files(copy) - files(source):
        (copy / stale).unlink()
    for name in files(source):
        if not (copy / name).is_file() or not filecmp.cmp(source / name, copy / name, shallow=False):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, copy / name)


def update_libraries(toolkit):
    """Whether the names of the libraries are the ones of the last build."""
    link, names = toolkit / "lib64", toolkit / "libraries.txt"
    link.unlink(missing_ok=True)
    link.symlink_to(HOME / "lib64")
    now = "\n".join(sorted(path.name for path in (HOME / "lib64").iterdir()))
    same = names.is_file() and names.read_text() == now
    names.write_text(now)
    return same


def run(folder, *argv):
    """Runs a step of the build; its output goes to FOLDER.log."""
    log = folder.with_name(folder.name + ".log")
    environment = dict(os.environ, PATH=f"{HOME / 'bin'}:{os.environ['PATH']}")
    with open(log, "w", encoding="utf-8") as file:
        done = subprocess.run([str(word) for word in argv], stdout=file, stderr=subprocess.STDOUT, env=environment)
    assert done.returncode == 0, f"{argv[0]} failed; the whole log is {log}\n" + "".join(log.open().readlines()[-40:])


def build_llama():
    """The folder of the built programs."""
    source = pathlib.Path(framework(NAME)) / "vendor" / "llama.cpp"
    folder = pathlib.Path(framework(NAME)).with_name(NAME + "-build")
    toolkit = folder / "toolkit"
    toolkit.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        update_headers(HOME / "include", toolkit / "include")
        if not update_libraries(toolkit):
            for library in (folder / "bin").glob("libggml-cann.so*"):
                library.unlink()
        if not (folder / "build.ninja").is_file():
            options = [f"-D{name}={value}" for name, value in OPTIONS.items()]
            run(folder, "cmake", "-S", source, "-B", folder, "-G", "Ninja", f"-DCANN_INSTALL_DIR={toolkit}", *options)
        run(folder, "ninja", "-C", folder, *TARGETS)
    return folder / "bin"
