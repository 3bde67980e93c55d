# SPDX-License-Identifier: Apache-2.0
"""Reads the protocol buffers wire format; implemented from its description, independently of the writers."""

import struct


def varint(message, at):
    """(value, offset of the next item)"""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def packed(message):
    """Values of a packed list."""
    at, values = 0, []
    while at < len(message):
        value, at = varint(message, at)
        values.append(value)
    return values


def fields(message):
    """(number, value) of a protobuf message; groups do not occur."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(message, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value = struct.unpack("<d" if kind == 1 else "<f", message[at:at + size])[0]
            at += size
        else:
            assert kind == 2
            size, at = varint(message, at)
            value = message[at:at + size]
            assert len(value) == size
            at += size
        yield key >> 3, value
