# SPDX-License-Identifier: Apache-2.0
"""Runs npz_noise on archives as NumPy writes them, with and without compression and 64-bit sizes.

usage: npz_noise.py NPZ_NOISE
"""
import os
import struct
import subprocess
import sys
import tempfile
import zipfile

HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
ARRAY = b"\x93NUMPY\1\0" + struct.pack("<H", 118) + HEADER.ljust(117).encode() + b"\n" + struct.pack("<6f", *range(6))

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.npz")
    for method in zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED:
        for large in False, True:
            with zipfile.ZipFile(path, "w", method) as archive:
                for name in "x.npy", "y.npy":
                    with archive.open(name, "w", force_zip64=large) as entry:
                        entry.write(ARRAY)
            subprocess.run([sys.argv[1], path, os.path.join(folder, "scratch.npz")], check=True)
