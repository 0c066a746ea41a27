"""The report of a run: one HTML file that needs no network and no script.

`source` reads a run, the module of each section makes tables and figures of it (`parts`), `page`
renders them.
"""
