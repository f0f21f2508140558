"""What was measured: call records of both sides, joined and summarised. Imports the foundation and ``apir`` only."""
