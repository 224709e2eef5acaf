"""The program of a controller pod, on a real API server."""
