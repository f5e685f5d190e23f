"""`plimsoll sync`: brings what the journal of a run says to TensorBoard and MLflow.

A process of its own, so that a tracker that is slow or gone neither slows nor ends training: its queue is the journal, and
files below RUN/sync say how far each tracker has it. docs/seeing.md tells how to use it, docs/formats/run.md what is in
the folder.
"""
