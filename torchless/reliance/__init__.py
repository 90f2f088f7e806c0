"""Who relies on an include: what a file mentions, what a header declares, and what a unit has without one directive."""
