"""The transport benchmark: what is measured, what its rows say, and what they are held against. Boots no guest."""
