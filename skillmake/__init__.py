"""skillmake trains the texts that steer an LLM agent the way weights are trained."""
