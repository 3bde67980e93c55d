# SPDX-License-Identifier: Apache-2.0
"""The table of single operators against the signatures of the two-phase functions: every word fits its parameter."""

import re

from conftest import ROOT

KINDS = {"i": "aclTensor", "o": "aclTensor", "i*": "aclTensorList", "s": "aclScalar", "v": "aclIntArray", "b": "bool",
         "n": ("int64_t", "int", "int8_t", "bool", "aclDataType"), "t": "aclDataType", "f": "float", "d": "double", "m": "aclBoolArray",
         "-": ("aclTensor", "aclIntArray")}


def signatures():
    text = (ROOT / "src/abi/aclnn_operators.txt").read_text()
    for line in text.splitlines():
        if not line.startswith("#") and line.strip():
            name, arguments, _ = [part.strip() for part in line.split("|")]
            yield name, [re.sub(r"\bconst\b|\*|\w+$", "", argument).strip() for argument in arguments.split(",")]


def rows():
    text = (ROOT / "src/abi/aclop_types.h").read_text()
    return re.findall(r'^ACLOP_TYPE\("(\w+)", "(\w+)", (-?\d+), (\d+), "([^"]+)"\)$', text, re.M)


def test_every_row_fits_its_function():
    known = dict(signatures())
    assert len(rows()) == (ROOT / "src/abi/aclop_types.h").read_text().count('ACLOP_TYPE("') > 90
    for kind, function, inputs, outputs, words in rows():
        parameters = known[function]
        words = words.split()
        assert len(words) == len(parameters) <= 16, kind
        for word, parameter in zip(words, parameters, strict=True):
            wanted = KINDS["i*" if word == "i*" else word[0]]
            assert parameter == wanted or parameter in wanted, (kind, word, parameter)
            index = re.match(r"[iosnvt](\d)", word)
            if index and word.endswith("?"):
                assert int(index[1]) == int(inputs), (kind, word)
            elif index:
                assert int(index[1]) < int(outputs if word[0] in "ot" else inputs), (kind, word)
        assert any(word.startswith("o") for word in words), kind


def test_types_are_unique():
    names = [(row[0], row[2]) for row in rows()]
    assert len(names) == len(set(names))
