"""What the operator decides: limits, order, admission, and what each job needs of it."""
