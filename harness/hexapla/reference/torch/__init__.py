"""The `torch` reference trainer: PyTorch, transformers and PEFT behind the trainer protocol.

It is a process (`python -m hexapla.reference.torch`), imported by nobody. It is written from the
specification and the protocol alone and shares no code with the harness or with another trainer.
"""
