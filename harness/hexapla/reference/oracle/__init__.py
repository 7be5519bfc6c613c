"""The oracle: a trainer in NumPy and float64 whose forward and backward passes are written out by hand.

It breaks ties. When two stacks disagree, it says which of them is further from float64. It therefore shares
no code with any other trainer and imports nothing else from hexapla; the harness talks to it through the
trainer protocol only.

What is rounded, and when:

* Weights widen exactly from their stored type to float64. Every value between two updates (adapter, both
  moments), every activation, gradient, label's nll and sum is float64, never float32.
* The three numbers that the specification itself rounds are rounded: the learning rate of an update, the
  weight 1/N of a label in backward, and the factor of a clip. They are the values that every other trainer
  uses, widened again.
* Digests and the checkpoint's `adapter_model.safetensors` and `optimizer.safetensors` hold the float64 state
  rounded once to float32. So that a resumed run is bit-identical to an uninterrupted one, a checkpoint also
  holds `oracle_float64.safetensors`, the unrounded state. A tensor of it counts only while it rounds to the
  very bits of its float32 twin: where the twin was edited, or the checkpoint is another trainer's, the twin
  is what is read.
* The `operators` request multiplies without a BLAS (NumPy's is a cousin of core's); training multiplies with
  it.
"""
