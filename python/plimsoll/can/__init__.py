"""Code for CAN: frames, captures, windows, detectors and their model files, and bus descriptions."""
