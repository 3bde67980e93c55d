# SPDX-License-Identifier: Apache-2.0
"""Reads TensorBoard event files and checks every frame; implemented from the format's description, independently of the writer."""

import struct

from protobuf import fields


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def read_events(path):
    data = path.read_bytes()
    at = 0
    while at < len(data):
        length, crc = struct.unpack_from("<QI", data, at)
        assert crc == masked(data[at:at + 8]), f"length at {at}"
        payload = data[at + 12:at + 12 + length]
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked(payload), f"payload at {at}"
        at += 16 + length
        event = {"step": 0, "tag": None}
        for number, value in fields(payload):
            if number == 1:
                event["wall_time"] = value
            elif number == 2:
                event["step"] = value
            elif number == 3:
                event["file_version"] = value.decode()
            elif number == 5:
                (_, item), = fields(value)
                scalar = dict(fields(item))
                event.update(tag=scalar[1].decode(), value=scalar[2])
        yield event
