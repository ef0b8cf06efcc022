"""The datasets of ToRR (arXiv 2502.19412), one module each."""
