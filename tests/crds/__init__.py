"""Tests of the custom resources: every bound and every rule, tried on a real API server through kubectl."""
