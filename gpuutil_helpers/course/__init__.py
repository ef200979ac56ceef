"""What teaches: lessons, notes, figures and exercises. It measures nothing."""
