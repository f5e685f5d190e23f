"""Implements `plimsoll sync`: sends the journal of a run to TensorBoard and MLflow.

It is a separate process, so a slow or missing tracker neither slows nor ends training. The journal serves as its queue,
and files in RUN/sync record how far each tracker has received it. See docs/seeing.md for its use and
docs/formats/run.md for the folder.
"""
