# SPDX-License-Identifier: Apache-2.0
"""Programs in the style of the vendor's operator examples: a call of both phases, then the printed result. They are built with
plain g++ and the toolkit's home, and run without LD_LIBRARY_PATH."""
import math
import pathlib
import subprocess

import pytest

from conftest import HOME

SAMPLES = pathlib.Path(__file__).parent / "programs" / "operators"


def softmax(row):
    powers = [math.exp(value - max(row)) for value in row]
    return [power / sum(powers) for power in powers]


def layer_norm(row, weight, bias):
    mean = sum(row) / len(row)
    scale = (sum((value - mean) ** 2 for value in row) / len(row) + 1e-5) ** -0.5
    return [(value - mean) * scale * w + b for value, w, b in zip(row, weight, bias)]


def gelu(value):
    return value * (1 + math.tanh(math.sqrt(2 / math.pi) * (value + 0.044715 * value ** 3))) / 2


def convolve(image, filter_, bias):
    """With a border of one zero on every side; an output is smaller by the filter's size minus one."""
    size = len(image) + 2
    padded = [[0] * size, *([0, *row, 0] for row in image), [0] * size]
    return [bias + sum(padded[y + i][x + j] * filter_[i][j] for i in range(2) for j in range(2))
            for y in range(size - 1) for x in range(size - 1)]


LOSSES = [-math.log(softmax([0, 1])[1]), -math.log(softmax([2, 0])[0])]
RESULTS = {
    "add": [i + 1.2 * (1, 10)[i % 2] for i in range(8)],
    "arange_cast": [-1, 0, 0, 1, 2, 3],
    "cat": [1, 3, 2, 4, 5, 6],
    "convolution": convolve([[1, 2, 3], [4, 5, 6], [7, 8, 9]], [[1, 2], [3, 4]], 0.5),
    "gather": [20, 21, 0, 1, 20, 21],
    "gelu": [gelu(value) for value in (-2, -1, 0, 1, 2)],
    "layer_norm": layer_norm([1, 2, 3, 4], [1, 2, 1, 2], [0, 0, 1, 1]) + layer_norm([-4, 0, 4, 8], [1, 2, 1, 2], [0, 0, 1, 1]),
    "matmul": [4, 5, 10, 11, 16, 17, 22, 23],
    "nll_loss": [(3 * LOSSES[0] + LOSSES[1]) / 4, 4],
    "reduce_sum": [14, 22, 30],
    "softmax": softmax([0, 1, 2]) + softmax([0, 0, 1]),
    "sort": [4, 3, 1, 1, 9, 6, -2, -5, 2, 0, 1, 3, 1, 3, 2, 0],
}


@pytest.mark.parametrize("name", sorted(path.stem for path in SAMPLES.glob("*.cpp")))
def test_operator_sample(softnpu, tmp_path, name):
    subprocess.run(["g++", "-std=c++11", SAMPLES / f"{name}.cpp", "-o", tmp_path / name, f"-I{HOME}/include", f"-L{HOME}/lib64",
                    f"-Wl,-rpath,{HOME}/lib64", "-lascendcl", "-lnnopbase", "-lopapi"],
                   check=True, env={"PATH": "/usr/bin:/bin"})
    done = softnpu.run(tmp_path / name, LD_LIBRARY_PATH="")
    assert done.returncode == 0, done.stdout + done.stderr
    values = [float(line.split(" is: ")[1]) for line in done.stdout.splitlines()]
    assert values == pytest.approx(RESULTS[name], abs=2e-3)
