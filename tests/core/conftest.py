"""Rules of the core are tried for correctness, not for speed: a slow machine fails no test."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
