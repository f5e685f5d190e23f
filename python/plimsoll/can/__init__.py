"""All that knows CAN: frames, captures, windows, detectors and their model files, and descriptions of a bus."""
