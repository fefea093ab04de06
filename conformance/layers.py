# SPDX-License-Identifier: Apache-2.0
"""Runs a program under Vulkan's validation layer, synchronization included, and fails if that has anything to say.

usage: layers.py PROGRAM [ARGUMENT...]
"""

import os
import pathlib
import subprocess
import sys
import tempfile

LAYER = "VK_LAYER_KHRONOS_validation"
PLACES = ["/usr/share", "/usr/local/share", "/etc"]
SETTINGS = """khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.report_flags = error,warn
khronos_validation.log_filename = {}
"""


def main():
    if not any(pathlib.Path(place, "vulkan/explicit_layer.d", "VkLayer_khronos_validation.json").exists() for place in PLACES):
        print("skipped: there is no", LAYER)
        return 77
    with tempfile.TemporaryDirectory() as folder:
        settings, log = pathlib.Path(folder, "vk_layer_settings.txt"), pathlib.Path(folder, "log")
        settings.write_text(SETTINGS.format(log))
        # What drivers and layers keep for themselves cannot be told from leaks once they are unloaded.
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        result = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env=dict(os.environ, VK_INSTANCE_LAYERS=LAYER, VK_LAYER_SETTINGS_PATH=str(settings),
                                         ASAN_OPTIONS=sanitizer.lstrip(":")))
        print("\n".join(result.stdout.splitlines()[-20:]))
        said = log.read_text() if log.exists() else ""
        print(said[:4000])
    return result.returncode or (1 if said.strip() else 0)


if __name__ == "__main__":
    sys.exit(main())
