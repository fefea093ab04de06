# SPDX-License-Identifier: Apache-2.0
"""Writes TensorFlow Lite files: flatbuffers of schema.fbs, version 3,
https://github.com/tensorflow/tensorflow/blob/master/tensorflow/compiler/mlir/lite/schema/schema.fbs

A table is a dictionary from the numbers of fields to values: ("i", 3) is a number in the format of struct, a dictionary is a
table, a str or bytes is a vector of bytes, ("vi", [1, 2]) is a vector of numbers, and a list is one of tables."""

import struct


class Writer:
    def __init__(self):
        self.bytes = bytearray()

    def align(self, size, ahead=0):
        """Places what comes `ahead` bytes behind at a multiple of a size."""
        self.bytes += bytes(-(len(self.bytes) + ahead) % size)

    def point(self, at):
        struct.pack_into("<I", self.bytes, at, len(self.bytes) - at)

    def put(self, value, at):
        """Writes what a field or an item refers to, and the offset that leads there."""
        if isinstance(value, dict):
            self.table(value, at)
        elif isinstance(value, (str, bytes)):
            data = value.encode() if isinstance(value, str) else value
            self.align(16, 4)
            self.point(at)
            self.bytes += struct.pack("<I", len(data)) + data + b"\0"
        elif isinstance(value, list):
            self.align(4)
            self.point(at)
            start = len(self.bytes) + 4
            self.bytes += struct.pack("<I", len(value)) + bytes(4 * len(value))
            for i, item in enumerate(value):
                self.put(item, start + 4 * i)
        else:
            kind, numbers = value[0][1:], value[1]
            self.align(max(struct.calcsize(kind), 4), 4)
            self.point(at)
            self.bytes += struct.pack("<I", len(numbers)) + struct.pack(f"<{len(numbers)}{kind}", *numbers)

    def table(self, fields, at):
        fields = {number: value for number, value in fields.items() if value is not None}
        count = max(fields, default=-1) + 1
        scalars = {number: value for number, value in fields.items()
                   if isinstance(value, tuple) and not value[0].startswith("v")}
        self.align(8, 4 + 2 * count)
        vtable = len(self.bytes)
        self.bytes += bytes(4 + 2 * count)
        table = len(self.bytes)
        self.point(at)
        self.bytes += bytes(4)
        places = {}
        for number, value in sorted(fields.items(), key=lambda item: item[0] in scalars and -struct.calcsize(item[1][0])):
            size = struct.calcsize(value[0]) if number in scalars else 4
            self.align(size)
            places[number] = len(self.bytes)
            self.bytes += struct.pack("<" + value[0], value[1]) if number in scalars else bytes(4)
        struct.pack_into("<HH", self.bytes, vtable, 4 + 2 * count, len(self.bytes) - table)
        struct.pack_into("<i", self.bytes, table, table - vtable)
        for number, place in places.items():
            struct.pack_into("<H", self.bytes, vtable + 4 + 2 * number, place - table)
        for number, value in fields.items():
            if number not in scalars:
                self.put(value, places[number])


def write(root, identifier=b"TFL3"):
    writer = Writer()
    writer.bytes += bytes(4) + identifier
    writer.table(root, 0)
    return bytes(writer.bytes)
