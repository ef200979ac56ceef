"""What the reader builds: data, a model, the training loop and the script around it."""
