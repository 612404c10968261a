"""The commands of build.py, one file each.

Each has ``describe(parser)``, which adds its options, and ``run(options)``, which returns the exit status.
"""
