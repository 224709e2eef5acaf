"""The Helm chart: what it renders, refuses and leaves behind."""
