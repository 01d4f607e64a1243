"""Pure statistics: bounds on leak rates, change detection, the prefill floor, the search for a length limit."""
