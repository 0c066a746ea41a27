"""What a run has observed, as tidy tables (SPEC §9): a row model for each, pure functions make the rows."""
