"""Shapes at the border: names, parsing (API objects to values), rendering (values to API objects), manifests."""
