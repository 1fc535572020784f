"""Settings chosen on the training set, calibrated probabilities and the reject option."""
