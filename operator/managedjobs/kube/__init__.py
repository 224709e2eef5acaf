"""The thin Kubernetes client: requests, informers, leader election, events and the only reader of the clock.

Importing `managedjobs.kube.client` loads the standard library, aiohttp and msgspec, and nothing else: this
memory is paid once for every controller pod.
"""
