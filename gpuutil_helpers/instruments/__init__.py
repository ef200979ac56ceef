"""What measures: the machine, and the time something takes."""
