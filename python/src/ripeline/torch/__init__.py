"""PyTorch's pipeline stages, run under a proved schedule."""
