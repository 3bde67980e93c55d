# SPDX-License-Identifier: Apache-2.0
"""Runs the Python examples of the implemented documents unchanged.

The documents are next to the repository (../shared/requirement, or NPUSCOPE_REQUIREMENT) and are read, not copied. Without them
the tests are skipped. `train()`, the user's code in the documents, allocates memory and replaces lines of dots.
"""

import re
import shutil
import subprocess
import textwrap

from python_target import HOME, ROOT, Target

PRELUDE = """
import builtins, npu
npu.init()
def train():
    npu.work(3)
builtins.train = train
"""

# A private /home that shows the existing entries, so that the documents' own paths can be created in it.
PRIVATE = """
set -e
old=$(mktemp -d)
mount --bind /home "$old"
mount -t tmpfs -o mode=0755 tmpfs /home
for entry in "$old"/*; do
    if [ -d "$entry" ]; then
        mkdir "/home/${entry##*/}"
        mount --rbind "$entry" "/home/${entry##*/}"
    fi
done
"$@"
for file in $(find /home/projects/output -name 'memscope_dump_*' 2>/dev/null); do
    cp "$file" .
done
"""


def snippets(requirement, number):
    """The Python examples of a document, with names."""
    if requirement is None:
        return []
    (document,) = requirement.glob(f"{number}*.txt")
    blocks = re.findall(r"^( *)```python\n(.*?)^ *```", document.read_text(), re.M | re.S)
    return [re.sub(r"^( *)\.{3,}\s*$", r"\1train()", textwrap.dedent(code), flags=re.M) for _, code in blocks]


RECORD = """
import msmemscope, mstx, npu
npu.init()
msmemscope.config(analysis="")
msmemscope.start()
for _ in range(3):
    mstx.mark("test")
    npu.malloc(1 << 21)
msmemscope.stop()
"""


def run(target, code):
    script = target.argv(PRELUDE + code)
    return subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", PRIVATE, "sh", *script],
                          cwd=target.folder, env=target.softnpu.env(**target.env), capture_output=True, text=True, timeout=120)


def test_collection_examples_run(softnpu, tmp_path, requirement):
    for number, code in enumerate(snippets(requirement, "001")):
        way = "launcher" if "import mstx" in code else "plain"  # the document runs marks with the command
        target = Target(softnpu, tmp_path / f"target{number}", way)
        done = run(target, code)
        assert done.returncode == 0, code + done.stdout + done.stderr
        assert "Error" not in done.stderr, done.stderr
        if "msmemscope.start()" in code:
            assert "Start tracing." in done.stdout and "Stop tracing." in done.stdout
        if "msmemscope.step()" in code:
            assert len([row for row in target.rows() if row.type == "STEP"]) == 10
            assert len(target.mallocs("HAL")) == 30
        if "data_format" in code:
            (database,) = target.folder.glob("memscope_dump_*.db")


def test_analysis_examples_run(softnpu, tmp_path, requirement):
    recorded = Target(softnpu, tmp_path / "recorded")
    recorded.run(RECORD)
    (dump,) = recorded.files()
    for number, code in enumerate(snippets(requirement, "003")):
        target = Target(softnpu, tmp_path / f"target{number}")
        (target.folder / "user").mkdir()
        for name in ("memscope.csv", "ineff.csv"):
            shutil.copy(dump, target.folder / "user" / name)
        done = target.run(code)
        if "leaks_analyzer" in code or "check_leaks" in code or 'analyze("leaks"' in code:
            assert "Detected memory leaks on device 0" in done.out, code + done.out
        if "print(" in code:
            assert "leaks" in done.out or "LeaksConfig" in done.out, code + done.out
        assert "Traceback" not in done.err


def test_readme_example_runs(target):
    """Each step leaks one block, and the report shows it."""
    done = target.run((ROOT / "examples/python/record.py").read_text())
    assert done.out.splitlines()[-1] == "6 steps recorded in memscopeDumpResults"
    kept = [row for row in target.mallocs("HAL") if row.attr["owner"] == "CANN@APP@activations@history"]
    assert len(kept) == 6 and all("step" in row.python_stack for row in kept)
    report = target.softnpu.run(HOME / "bin" / "msmemscope", "report", target.output)
    assert report.returncode == 0 and "+1.000 MiB per step" in report.stdout, report.stdout + report.stderr
    assert "Leak, steps 2 to 5: peak -4.00 MiB (31 %), confidence high" in report.stdout, report.stdout
    assert "partial" not in report.stdout + report.stderr
