"""What the product costs, measured on real clusters; the budgets are those of the design."""
