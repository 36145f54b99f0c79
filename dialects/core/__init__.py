"""What all levels share: op bases, interpreter, origins, weights, errors, numpy kernels."""
