"""The live view of a run, from its files alone: nothing is written, no process is asked."""
