"""Configuration for the real lit: `lit test/filecheck`.

pytest runs the same files in process; lit shows that they also work as separate commands.
"""

import os
import sys

import lit.formats

bin_folder = os.path.dirname(sys.executable)

config.name = "npuc"
config.suffixes = [".mlir"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.test_source_root, "..", ".lit-out")
config.test_format = lit.formats.ShTest()
config.environment["PATH"] = bin_folder + os.pathsep + config.environment["PATH"]
