"""What the notebooks of the course call. Importing it loads neither torch, pandas nor matplotlib.

`instruments` measure, `project` is what the reader builds, `course` teaches. Each imports only
from those before it; `course` takes plain records and measures nothing.
"""

__version__ = "0.1.0"
