"""Whether everything that a run needs is there: machine, parameters, data, models, workspace."""
