"""The program of a controller pod: it drives one job.

Its memory is the product's price, once per job: nothing below this folder may import more than the standard
library, aiohttp, msgspec and the layers `core`, `api`, `kube` and `telemetry` (a test asks the interpreter).
"""
