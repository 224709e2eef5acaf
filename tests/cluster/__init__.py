"""Real clusters for tests, demos and benches, on one machine: `python3 -m tests.cluster --help`.

Needs Python 3.11 and nothing else to start. Programs are found, or built once from their Go modules.
"""
